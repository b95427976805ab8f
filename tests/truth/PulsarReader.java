import java.io.PrintWriter;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.Reader;

/**
 * Writes what a topic holds, read with Pulsar's own Java readers, outside any subscription. It knows nothing of samebox.
 *
 * <p>java -cp 'libs/*' PulsarReader.java SERVICE_URL TOPIC FILE. One line a message, separated by tabs: partition, position
 * (ledger, entry, place in the batch, separated by colons), SHA-256 of the payload, its first 32 bytes; both in hexadecimal.
 */
public final class PulsarReader {
    private static final int HEAD_BYTES = 32;
    private static final int SILENCE_LIMIT_S = 120;

    public static void main(String[] arguments) throws Exception {
        try (PulsarClient client = PulsarClient.builder().serviceUrl(arguments[0]).build();
                PrintWriter file = new PrintWriter(arguments[2], "US-ASCII")) {
            for (String topic : client.getPartitionsForTopic(arguments[1], false).get()) {
                read(client, topic, file);
            }
            if (file.checkError()) {
                throw new IllegalStateException("not all could be written to " + arguments[2]);
            }
        }
    }

    private static void read(PulsarClient client, String topic, PrintWriter file) throws Exception {
        int partition = Integer.parseInt(topic.substring(topic.lastIndexOf('-') + 1));
        try (Reader<byte[]> reader =
                client.newReader().topic(topic).startMessageId(MessageId.earliest).create()) {
            while (reader.hasMessageAvailable()) {
                Message<byte[]> message = reader.readNext(SILENCE_LIMIT_S, TimeUnit.SECONDS);
                if (message == null) {
                    throw new IllegalStateException("nothing came for " + SILENCE_LIMIT_S + " s from " + topic);
                }
                file.println(line(partition, message));
            }
        }
    }

    private static String line(int partition, Message<byte[]> message) throws Exception {
        MessageIdAdv at = (MessageIdAdv) message.getMessageId();
        byte[] payload = message.getData();
        HexFormat hexadecimal = HexFormat.of();
        return String.join(
                "\t",
                Integer.toString(partition),
                at.getLedgerId() + ":" + at.getEntryId() + ":" + at.getBatchIndex(),
                hexadecimal.formatHex(MessageDigest.getInstance("SHA-256").digest(payload)),
                hexadecimal.formatHex(Arrays.copyOf(payload, Math.min(HEAD_BYTES, payload.length))));
    }
}
