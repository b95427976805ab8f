"""What a stack costs by pinned prices: sums checked by hand, the presets, a run from its results, the command as typed."""

from __future__ import annotations

import dataclasses
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from bench.checkout import CHECKOUT
from bench.results.folder import Results
from bench.run.spent import run_of
from infra.instance_types import INSTANCE_TYPES
from provisioning.errors import InvalidInput
from provisioning.hosts.inventory import RecordsBucket
from provisioning.testbeds.aws import cost
from provisioning.testbeds.aws.prices import PRICES_FILE, host_prices, load_prices
from provisioning.testbeds.aws.shape import load_shape, stack_file, stacks
from tests.aws import engine
from tests.campaign.command import samebox

PRICES = """
schema = 1
[[instance_hour]]
regions = ["us-west-2"]
pinned = 2026-11-21
source = "https://prices.test/ec2"
prices = {"big.large" = 2.0, "small.large" = 0.5}
[[emr_hour]]
regions = ["us-west-2"]
pinned = 2026-10-01
source = "https://prices.test/emr"
prices = {"small.large" = 0.25}
[[service]]
regions = ["us-west-2"]
pinned = 2026-11-21
source = "https://prices.test/rest"
[service.prices]
gp3_gib_month = 7.3
gp3_mib_per_s_month = 0.73
s3_gib_month = 0.02
s3_thousand_puts = 1000.0
transfer_out_gib = 0.1
public_ipv4_hour = 0.01
"""
STACK = """
config:
  samebox:region: us-west-2
  samebox:owner: me
  samebox:hostKeySeed: {secure: v1:xyz}
  samebox:brokers: {count: 3, instanceType: big.large, rootVolumeGib: 100, rootThroughputMibPerS: 125}
  samebox:clients: {count: '2', instanceType: small.large, rootVolumeGib: 100, rootThroughputMibPerS: 225}
  samebox:metadata: {count: 0}
  samebox:reportInstanceType: small.large
  samebox:reportInstances: 4
  aws:region: us-west-2
"""


def write(folder: Path, text: str, name: str) -> Path:
    """A file for a test."""
    (folder / name).write_text(text)
    return folder / name


def test_per_hour_by_role(tmp_path: Path) -> None:
    """Instances, gp3 volumes (a GiB-month of 7.30 is a cent an hour; throughput beyond 125 MiB/s is paid), addresses."""
    prices = load_prices(write(tmp_path, PRICES, "prices.toml"))
    brokers, clients = cost.hosts_per_hour(load_shape(write(tmp_path, STACK, "Pulumi.t.yaml")), prices)
    assert (brokers.role, brokers.count, clients.role, clients.count) == ("broker", 3, "client", 2)
    assert brokers.instances == pytest.approx(6.0)
    assert brokers.volumes == pytest.approx(3 * 1.0)
    assert brokers.addresses == pytest.approx(0.03)
    assert clients.volumes == pytest.approx(2 * (1.0 + 0.1))
    assert cost.per_hour((brokers, clients)) == pytest.approx(6 + 3 + 0.03 + 1 + 2.2 + 0.02)


def test_each_host_has_its_price_an_hour(tmp_path: Path) -> None:
    """For the manifest: the instance and its address, by the region of the testbed's bucket; the day of the prices beside them."""
    prices = load_prices(write(tmp_path, PRICES.replace("big.large", "i3en.2xlarge"), "prices.toml"))
    inventory = dataclasses.replace(engine.inventory(), records_bucket=RecordsBucket("b", "us-west-2"))
    found = host_prices(inventory, prices)
    assert found == {
        "currency": "USD",
        "pinned": "2026-10-01",
        "hosts": {host.name: pytest.approx(2.01) for host in inventory.hosts},
    }


def test_hosts_that_nobody_charges_for_have_no_price(tmp_path: Path) -> None:
    """Nor those of a type, or in a region, that the table lacks: a campaign runs all the same."""
    prices = load_prices(write(tmp_path, PRICES, "prices.toml"))
    inventory = engine.inventory()
    assert host_prices(inventory, prices) is None
    for region in ("us-west-2", "eu-north-1"):
        elsewhere = dataclasses.replace(inventory, records_bucket=RecordsBucket("b", region))
        assert host_prices(elsewhere, prices) is None


def test_a_reserved_place_costs_where_it_stands_empty(tmp_path: Path) -> None:
    """As much as its instance, without volume and address; what isn't reserved costs nothing, and the hosts cost as before."""
    prices = load_prices(write(tmp_path, PRICES, "prices.toml"))
    plain = load_shape(write(tmp_path, STACK, "Pulumi.t.yaml"))
    reserved = load_shape(write(tmp_path, f"{STACK}  samebox:reserveCapacity: true\n", "Pulumi.r.yaml"))
    roles = cost.hosts_per_hour(reserved, prices)
    assert roles == cost.hosts_per_hour(plain, prices)
    assert cost.reserved_per_hour(plain, roles) == 0.0
    assert cost.reserved_per_hour(reserved, roles) == pytest.approx(7.0)
    metadata = dataclasses.replace(roles[0], role="metadata")
    burstable = dataclasses.replace(roles[1], surplus=0.1)
    assert cost.reserved_per_hour(reserved, [metadata, burstable]) == 0.0


def test_the_command_says_what_reserved_capacity_costs(tmp_path: Path) -> None:
    """In words, and for machines."""
    prices = str(write(tmp_path, PRICES, "prices.toml"))
    stack = str(write(tmp_path, f"{STACK}  samebox:reserveCapacity: 'true'\n", "Pulumi.r.yaml"))
    said = samebox(tmp_path, "cost", "--stack", stack, "--prices", prices)
    assert "Capacity for brokers and clients is reserved first" in said.stdout and "$7.00 an hour" in said.stdout
    (found,) = json.loads(samebox(tmp_path, "cost", "--stack", stack, "--prices", prices, "--json").stdout)["stacks"]
    assert found["reserved_per_hour"] == pytest.approx(7.0)


def test_a_campaign_pays_for_the_time_around_it(tmp_path: Path) -> None:
    """Hosts are paid while they are stood up, vetted, reported on and torn down; then the cluster, a month of records, transfer."""
    prices = load_prices(write(tmp_path, PRICES, "prices.toml"))
    shape = load_shape(write(tmp_path, STACK, "Pulumi.t.yaml"))
    whole = cost.campaign_cost(shape, prices, campaign_s=7200, vetting_s=1800, record_bytes=10 * 2**30)
    around_s = cost.STAND_UP_S + 1800 + cost.EMR_S + cost.TEAR_DOWN_S
    assert whole.vetting_s == 1800
    assert whole.hours == pytest.approx(2 + around_s / 3600)
    assert whole.hosts == pytest.approx(whole.hours * 12.25)
    volume = cost.EMR_VOLUME_GIB * 0.01
    assert whole.emr == pytest.approx(4 * (0.5 + 0.25 + volume) * cost.EMR_S / 3600)
    assert whole.storage_month == pytest.approx(10 * 0.02 + 160 * 1.0)  # 160 uploads of 64 MiB at a dollar each
    assert whole.transfer == pytest.approx(0.1)
    assert whole.to_json()["total"] == pytest.approx(whole.hosts + whole.emr + whole.storage_month + whole.transfer)


def test_the_table_says_its_oldest_date_and_its_sources(tmp_path: Path) -> None:
    """No price is older than the date that is printed."""
    prices = load_prices(write(tmp_path, PRICES, "prices.toml"))
    assert prices.pinned == date(2026, 10, 1)
    assert prices.sources == ("https://prices.test/ec2", "https://prices.test/emr", "https://prices.test/rest")


@pytest.mark.parametrize(
    ("kind", "name", "region", "message", "next_step"),
    [
        (
            "instance_hour",
            "big.lrage",
            "us-west-2",
            r"no price for instance type 'big.lrage' in us-west-2. There are: big.large",
            '"big.lrage" = PRICE under [instance_hour.prices]',
        ),
        (
            "emr_hour",
            "big.large",
            "us-west-2",
            r"no price for the EMR surcharge of instance type 'big.large'",
            "[emr_hour",
        ),
        (
            "instance_hour",
            "big.large",
            "eu-north-1",
            r"no prices for region 'eu-north-1'. Regions with prices: us-west-2",
            'add a [[instance_hour]] group with regions = ["eu-north-1"]',
        ),
    ],
)
def test_a_price_that_is_not_there_is_asked_for(
    tmp_path: Path, kind: Any, name: str, region: str, message: str, next_step: str
) -> None:
    """No guess: the file, what is missing, and what to add where."""
    file = write(tmp_path, PRICES, "prices.toml")
    with pytest.raises(InvalidInput, match=message) as caught:
        load_prices(file).price(kind, name, region)
    assert str(caught.value).startswith(str(file))
    assert next_step in caught.value.next_step


@pytest.mark.parametrize(
    ("line", "by", "message"),
    [
        ('prices = {"small.large" = 0.25}', 'prices = {"small.large" = -1}', "greater than or equal to 0"),
        ("pinned = 2026-10-01", "", "key 'emr_hour.0.pinned' is missing"),
        ("schema = 1", "schema = 2", "schema is 2"),
    ],
)
def test_a_wrong_table_is_told(tmp_path: Path, line: str, by: str, message: str) -> None:
    """A price below nothing, a group without its date, another schema."""
    assert line in PRICES
    with pytest.raises(InvalidInput, match=message):
        load_prices(write(tmp_path, PRICES.replace(line, by), "prices.toml"))


def test_the_kits_table_has_all_that_is_asked_of_it() -> None:
    """Every region has every service, every group its date and its page at AWS, and EMR's surcharge is below its instance's price."""
    prices = load_prices()
    assert prices.regions == ("us-west-2", "us-east-1")
    services = ("gp3_gib_month", "gp3_mib_per_s_month", "s3_gib_month", "s3_thousand_puts")
    for region in prices.regions:
        for name in (*services, "transfer_out_gib", "public_ipv4_hour"):
            assert prices.price("service", name, region) > 0
    assert all(source.startswith("https://aws.amazon.com/") for source in prices.sources)
    for group in prices.groups["emr_hour"]:
        for name, surcharge in group.prices.items():
            assert 0 < surcharge < prices.price("instance_hour", name, group.regions[0])
    assert "nobody looked them up online" in PRICES_FILE.read_text()


def test_prices_grow_with_the_size() -> None:
    """Within a family the price doubles with the size: a figure mistyped by one place shows."""
    prices = load_prices()
    sizes = {
        "large": 1,
        "xlarge": 2,
        "2xlarge": 4,
        "3xlarge": 6,
        "4xlarge": 8,
        "6xlarge": 12,
        "8xlarge": 16,
        "9xlarge": 18,
    }
    sizes |= {"12xlarge": 24, "16xlarge": 32, "18xlarge": 36, "24xlarge": 48, "32xlarge": 64}
    compared = 0
    for group in prices.groups["instance_hour"]:
        for name, price in group.prices.items():
            family, _, size = name.partition(".")
            if size in sizes:
                # AWS gives i4i's to a tenth of a cent
                assert price == pytest.approx(group.prices[f"{family}.large"] * sizes[size], rel=0.003), name
                compared += 1
    assert compared > 35


UNPRICED = ("i7ie", "m7i", "i4g", "im4gn", "i8g", "c6gn", "m6g", "m7g")  # docs/aws.md says so


@pytest.mark.parametrize("region", ["us-west-2", "us-east-1"])
def test_every_type_that_a_stack_may_have_has_a_price(region: str) -> None:
    """What the settings accept isn't refused by the cost, which `samebox campaign aws` shows before it asks; but for families
    whose prices nobody could look up, which are refused by name, with the place to look."""
    prices = load_prices()
    for name in INSTANCE_TYPES:
        if name.partition(".")[0] not in UNPRICED:
            assert prices.price("instance_hour", name, region) > 0
            continue
        with pytest.raises(InvalidInput, match=f"no price for instance type '{name}' in {region}") as refused:
            prices.price("instance_hour", name, region)
        assert f'add "{name}" = PRICE under [instance_hour.prices]' in refused.value.next_step


def test_burstable_hosts_are_told_with_what_they_may_cost_more(tmp_path: Path) -> None:
    """T3 is never throttled, and pays for it: every type that can't stand in a placement group, which are the burstable ones."""
    prices = load_prices()
    burstable = {name for name, known in INSTANCE_TYPES.items() if not known.cluster_placement}
    assert {name for name in INSTANCE_TYPES if prices.surplus(name, "us-west-2")} == burstable
    assert prices.surplus("t3.medium", "us-west-2") == pytest.approx(2 * (1 - 0.2) * 0.05)
    assert prices.surplus("t3.large", "us-west-2") == pytest.approx(2 * (1 - 0.3) * 0.05)
    said = samebox(tmp_path, "cost", "--stack", "smoke").stdout
    assert "t3.medium is burstable: metadata may cost up to $0.0800 an hour more" in " ".join(said.split())
    assert "burstable" not in samebox(tmp_path, "cost", "--stack", "sn2022").stdout


def test_every_preset_has_a_price() -> None:
    """The committed stacks: the larger the machines, the dearer the hour."""
    prices = load_prices()
    assert set(stacks(CHECKOUT)) >= {"smoke", "sn2020", "sn2022"}
    hours = {}
    for name in ("smoke", "sn2020", "sn2022"):
        shape = load_shape(stack_file(CHECKOUT, name))
        hours[name] = cost.per_hour(cost.hosts_per_hour(shape, prices))
        assert cost.emr_step(shape, prices) > 0
    assert hours["smoke"] < 1.5 < hours["sn2020"] < 8 < hours["sn2022"] < 20
    shape = load_shape(stack_file(CHECKOUT, "sn2022"))
    assert [(hosts.count, hosts.instance_type) for hosts in shape.by_role().values()][:2] == [
        (3, "i3en.6xlarge"),
        (4, "m5n.8xlarge"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("config: [", "not valid YAML"),
        ("encryptionsalt: v1:x\n", "key 'config' is missing"),
        (STACK.replace("samebox:region: us-west-2", ""), "key 'region' is missing"),
        (STACK.replace("count: 3, ", ""), "key 'brokers.count' is missing"),
        (STACK.replace("instanceType: big.large", "instanceTyp: big.large"), "key 'brokers.instanceType' is missing"),
        (STACK.replace("rootVolumeGib: 100", "rootVolumeGib: lots"), "key 'brokers.rootVolumeGib' = 'lots'"),
        (STACK.replace("reportInstances: 4", "reportInstances: 0"), "key 'reportInstances' = 0"),
    ],
)
def test_a_config_without_a_price_is_told(tmp_path: Path, text: str, message: str) -> None:
    """File, key, and how to set it."""
    file = write(tmp_path, text, "Pulumi.t.yaml")
    with pytest.raises(InvalidInput, match=message) as caught:
        load_shape(file)
    assert str(caught.value).startswith(str(file))


# --- afterwards ---------------------------------------------------------------------------------------------------------------

BEGAN_S = 1_795_255_200  # 2026-11-21T10:00:00Z, the inventory's `created`
NS = 1_000_000_000


def results_of_a_run(root: Path, *, kind: str = "aws") -> Results:
    """A campaign of three trials of half an hour each, one of them with nothing acknowledged, from an hour after `created` on."""
    inventory = dataclasses.asdict(engine.inventory())
    del inventory["identity_file"]
    inventory["testbed"]["kind"] = kind
    for host in inventory["hosts"]:
        host["instance_type"] = "big.large" if host["role"] == "broker" else "small.large"
    (root / "report").mkdir(parents=True)
    (root / "manifest.json").write_text(json.dumps({"schema": 1, "campaign": "latency", "testbed": inventory}))
    summary = ["trial,system,durability,workload,block,metric,unit,value,samples"]
    for number, (system, acknowledged) in enumerate((("one", 2**20), ("two", 0), ("one", 2**20))):
        trial, began = f"b01-{number}-{system}", BEGAN_S + 3600 + number * 1800
        (root / "trials" / trial).mkdir(parents=True)
        steps = [
            {"name": "reset", "started_ns": began * NS, "ended_ns": (began + 60) * NS},
            {"name": "collect", "started_ns": (began + 60) * NS, "ended_ns": (began + 1800) * NS},
        ]
        document = {"schema": 1, "system": system, "workload": {"message_bytes": 1024}, "steps": steps}
        (root / "trials" / trial / "trial.json").write_text(json.dumps(document))
        summary.append(f"{trial},{system},1,steady,1,messages_sent,messages,1.0,1")
        summary.append(f"{trial},{system},1,steady,1,messages_acknowledged,messages,{acknowledged}.0,{acknowledged}")
    (root / "report" / "summary.csv").write_text("\n".join(summary) + "\n")
    return Results(root)


def test_a_runs_cost_is_shared_out_by_the_time_of_its_trials(tmp_path: Path) -> None:
    """From `created` to the last trial's end: each system pays for its trials, the rest is shared, and the parts are the whole."""
    run = run_of(results_of_a_run(tmp_path / "latency"))
    spent = cost.spent_cost(10.0, run.trials, began_s=run.began_s, ended_s=run.ended_s)
    assert [spent.hours, spent.total] == pytest.approx([2.5, 25.0])
    one, two = spent.systems
    assert (one.system, one.trials) == ("one", 2)
    assert [one.hours, one.cost] == pytest.approx([1.0, 10.0])
    assert one.acknowledged_gib == pytest.approx(2.0)
    assert one.per_gib == pytest.approx(5.0)
    assert two.cost == pytest.approx(5.0)
    assert two.per_gib is None
    assert [spent.shared_hours, spent.shared] == pytest.approx([1.0, 10.0])
    assert one.cost + two.cost + spent.shared == pytest.approx(spent.total)


def test_the_time_of_a_native_trial_is_shared(tmp_path: Path) -> None:
    """It acknowledges nothing that a system could be charged for; the hosts ran all the same, to its end."""
    results = results_of_a_run(tmp_path / "latency")
    last = results.trial_dir("b01-2-one") / "trial.json"
    document = {**json.loads(last.read_text()), "generator": "native"}
    document["steps"] = [{"name": "reset", "started_ns": (BEGAN_S + 9000) * NS, "ended_ns": (BEGAN_S + 10800) * NS}]
    native = results.trial_dir("b01-2-one-native")
    native.mkdir()
    (native / "trial.json").write_text(json.dumps(document))
    run = run_of(results)
    assert len(run.trials) == 3
    assert run.ended_s == BEGAN_S + 10800


def test_a_run_that_can_not_be_priced_is_told(tmp_path: Path) -> None:
    """Another testbed, no report, a report older than a trial, no trial."""
    with pytest.raises(InvalidInput, match="of kind 'inventory': AWS charged nothing"):
        run_of(results_of_a_run(tmp_path / "own", kind="inventory"))
    results = results_of_a_run(tmp_path / "r")
    summary = results.report_dir / "summary.csv"
    lines = summary.read_text().splitlines()
    summary.write_text("\n".join(lines[:-2]))
    with pytest.raises(InvalidInput, match="doesn't have trial b01-2-one"):
        run_of(results)
    summary.unlink()
    with pytest.raises(InvalidInput, match="has no report yet") as caught:
        run_of(results)
    assert "samebox report" in caught.value.next_step
    for trial in results.finished():
        (results.trial_dir(trial) / "trial.json").unlink()
    with pytest.raises(InvalidInput, match="no finished trial"):
        run_of(results)


# --- the command --------------------------------------------------------------------------------------------------------------


def test_the_command_prices_every_preset(tmp_path: Path) -> None:
    """Without a stack: all of them; with a campaign, its whole cost; the date of the prices is said."""
    done = samebox(tmp_path, "cost", str(CHECKOUT / "campaigns" / "demo.toml"))
    assert done.returncode == 0, done.stderr
    for words in ("smoke in us-west-2", "sn2020 in us-west-2", "3 x i3en.6xlarge", "the campaign, about 5:38"):
        assert words in done.stdout
    assert f"prices as pinned on {load_prices().pinned}" in done.stderr
    assert "check them" in done.stderr


def test_a_campaign_is_priced_with_the_checks_of_a_stack(tmp_path: Path) -> None:
    """What only hosts of a stack are checked for is a valid key of a campaign whose cost there is asked."""
    head, workloads, rest = (CHECKOUT / "campaigns" / "smoke.toml").read_text().partition("[[workloads]]")
    campaign = tmp_path / "own.toml"
    campaign.write_text(f"{head}[checks.network-allowance]\nuncounted_machines = 5\n\n{workloads}{rest}")
    for arguments in (
        ("cost", str(campaign)),
        *((verb, str(campaign), "--stack", "smoke") for verb in ("cost", "plan")),
    ):
        done = samebox(tmp_path, *arguments)
        assert done.returncode == 0, (arguments, done.stderr)


def test_a_plan_for_a_stack_takes_the_time_of_its_hosts(tmp_path: Path) -> None:
    """Their vetting and the report on EMR, as `samebox cost` counts them; not what both take on this machine."""
    plan = ("plan", str(CHECKOUT / "campaigns" / "smoke.toml"), "--json")
    here = json.loads(samebox(tmp_path, *plan).stdout)
    there = json.loads(samebox(tmp_path, *plan, "--stack", "smoke").stdout)
    trials_s = sum(trial["estimate_s"] for trial in there["trials"])
    assert trials_s == sum(trial["estimate_s"] for trial in here["trials"])
    assert there["estimate_s"] > trials_s + there["cost"]["vetting_s"] + cost.EMR_S
    assert there["estimate_s"] - here["estimate_s"] > 3600


def test_the_command_for_machines(tmp_path: Path) -> None:
    """--json adds up, and is nothing but JSON."""
    file = write(tmp_path, STACK, "Pulumi.t.yaml")
    prices = write(tmp_path, PRICES, "prices.toml")
    campaign = str(CHECKOUT / "campaigns" / "smoke.toml")
    done = samebox(tmp_path, "cost", campaign, "--stack", str(file), "--prices", str(prices), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document["prices"]["pinned"] == "2026-10-01"
    (stack,) = document["stacks"]
    assert stack["per_hour"] == pytest.approx(12.25)
    assert stack["campaign"]["hosts"] == pytest.approx(12.25 * stack["campaign"]["hours"])


def test_the_command_afterwards(tmp_path: Path) -> None:
    """--after needs the run's stack, and then says what each system cost, and a GiB of it."""
    results = results_of_a_run(tmp_path / "latency").root
    file = write(tmp_path, STACK, "Pulumi.t.yaml")
    prices = ("--prices", str(write(tmp_path, PRICES, "prices.toml")))
    without = samebox(tmp_path, "cost", "--after", str(results), *prices)
    assert without.returncode == 1
    assert "--after needs --stack" in without.stderr
    done = samebox(tmp_path, "cost", "--after", str(results), "--stack", str(file), *prices)
    assert done.returncode == 0, done.stderr
    # 3 x (2 + 1 + 0.01) + 1 x (0.5 + 1.1 + 0.01) = $10.64 an hour
    assert "$26.60" in done.stdout
    assert "nothing acknowledged" in done.stdout
    assert "lived longer cost $10.64" in done.stderr
    machines = samebox(tmp_path, "cost", "--after", str(results), "--stack", str(file), *prices, "--json")
    assert json.loads(machines.stdout)["total"] == pytest.approx(26.6)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--stack", "sn2023"), ("no such file", "smoke, sn2020, sn2022")),
        (("nowhere.toml",), ("nowhere.toml: no such file",)),
        (("--prices", "prices.txt"), ("prices.txt: no such file",)),
        (("--after", "results", "campaigns/demo.toml"), ("leave CAMPAIGN out",)),
        (("--after", "campaigns", "--stack", "smoke"), ("not a results folder",)),
    ],
)
def test_mistakes_are_told_without_a_traceback(
    tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    """One error that names what is wrong; exit 1."""
    done = samebox(tmp_path, "cost", *arguments)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    for each in words:
        assert each in done.stderr
