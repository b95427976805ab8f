import java.lang.reflect.Modifier;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage;
import org.apache.bookkeeper.bookie.storage.ldb.KeyValueStorageRocksDB;
import org.apache.bookkeeper.bookie.storage.ldb.SingleDirectoryDbLedgerStorage;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.http.HttpServerLoader;
import org.apache.bookkeeper.stats.prometheus.PrometheusMetricsProvider;
import org.apache.pulsar.broker.ServiceConfiguration;

/**
 * Prints the code's own default of every setting of a broker and of a bookie, as "broker key=value" and "bookie key=value".
 * A bookie's key without a value is one that its code has a name for, and whose default nothing tells.
 */
public class PulsarDefaults {
    static final TreeMap<String, String> asked = new TreeMap<>();

    /** Notes the default that each getter asks the configuration with. */
    public static class Noting extends ServerConfiguration {
        private static void note(String key, Object value) {
            asked.putIfAbsent(key, String.valueOf(value));
        }

        @Override public int getInt(String key, int value) { note(key, value); return super.getInt(key, value); }
        @Override public long getLong(String key, long value) { note(key, value); return super.getLong(key, value); }
        @Override public Long getLong(String key, Long value) { note(key, value); return super.getLong(key, value); }
        @Override public float getFloat(String key, float value) { note(key, value); return super.getFloat(key, value); }
        @Override public double getDouble(String key, double value) { note(key, value); return super.getDouble(key, value); }
        @Override public Integer getInteger(String key, Integer value) { note(key, value); return super.getInteger(key, value); }
        @Override public boolean getBoolean(String key, boolean value) { note(key, value); return super.getBoolean(key, value); }
        @Override public Boolean getBoolean(String key, Boolean value) { note(key, value); return super.getBoolean(key, value); }
        @Override public String getString(String key, String value) { note(key, value); return super.getString(key, value); }
        @Override public String getString(String key) { note(key, null); return super.getString(key); }
        @Override public String[] getStringArray(String key) { note(key, "[]"); return super.getStringArray(key); }
    }

    public static void main(String[] arguments) throws Exception {
        var broker = new ServiceConfiguration();
        var found = new TreeMap<String, String>();
        for (var field : ServiceConfiguration.class.getDeclaredFields()) {
            if (!Modifier.isStatic(field.getModifiers())) {
                field.setAccessible(true);
                found.put(field.getName(), String.valueOf(field.get(broker)));
            }
        }
        found.forEach((key, value) -> System.out.println("broker " + key + "=" + value));
        // what begins so is passed on to the broker's own clients
        System.out.println("broker bookkeeper_*");
        System.out.println("broker brokerClient_*");
        var bookie = new Noting();
        for (var method : ServerConfiguration.class.getMethods()) {
            String name = method.getName();
            boolean getter = method.getParameterCount() == 0 && (name.startsWith("get") || name.startsWith("is"));
            if (getter && !Modifier.isStatic(method.getModifiers())) {
                try {
                    method.invoke(bookie);
                } catch (ReflectiveOperationException refused) {
                    // what needs a value that isn't there has asked for it, and that is noted
                }
            }
        }
        asked.forEach((key, value) -> System.out.println("bookie " + key + "=" + value));
        var named = new TreeSet<String>();
        for (Class<?> each = ServerConfiguration.class; each != null; each = each.getSuperclass()) {
            addNames(each, named);
        }
        addNames(DbLedgerStorage.class, named);
        addNames(SingleDirectoryDbLedgerStorage.class, named);
        addNames(KeyValueStorageRocksDB.class, named);
        addNames(HttpServerLoader.class, named);
        addNames(PrometheusMetricsProvider.class, named);
        named.removeAll(asked.keySet());
        named.forEach(key -> System.out.println("bookie " + key));
    }

    /** The names of settings that a class has as constants. */
    private static void addNames(Class<?> of, TreeSet<String> names) throws IllegalAccessException {
        for (var field : of.getDeclaredFields()) {
            if (Modifier.isStatic(field.getModifiers()) && field.getType() == String.class) {
                field.setAccessible(true);
                String name = (String) field.get(null);
                if (name != null && name.matches("[A-Za-z][A-Za-z0-9_.-]*")) {
                    names.add(name);
                }
            }
        }
    }
}
