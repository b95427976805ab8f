import java.io.PrintWriter;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Writes what a topic holds, read with Kafka's own Java consumer, outside any group. It knows nothing of samebox.
 *
 * <p>java -cp 'libs/*' KafkaReader.java BOOTSTRAP TOPIC FILE. One line a message, separated by tabs: partition, position (the
 * offset), SHA-256 of the value, its first 32 bytes; both in hexadecimal. It ends at the end that the topic has when it starts.
 */
public final class KafkaReader {
    private static final int HEAD_BYTES = 32;
    private static final long SILENCE_LIMIT_S = 120;

    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "none");
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings, bytes, bytes);
                PrintWriter file = new PrintWriter(arguments[2], "US-ASCII")) {
            List<TopicPartition> partitions = consumer.partitionsFor(arguments[1]).stream()
                    .map(partition -> new TopicPartition(partition.topic(), partition.partition()))
                    .toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            long heard = System.nanoTime();
            while (partitions.stream().anyMatch(partition -> consumer.position(partition) < ends.get(partition))) {
                for (ConsumerRecord<byte[], byte[]> message : consumer.poll(Duration.ofSeconds(1))) {
                    heard = System.nanoTime();
                    file.println(line(message));
                }
                if (System.nanoTime() - heard > SILENCE_LIMIT_S * 1_000_000_000L) {
                    throw new IllegalStateException("nothing came for " + SILENCE_LIMIT_S + " s before " + ends);
                }
            }
            if (file.checkError()) {
                throw new IllegalStateException("not all could be written to " + arguments[2]);
            }
        }
    }

    private static String line(ConsumerRecord<byte[], byte[]> message) throws Exception {
        byte[] value = message.value();
        HexFormat hexadecimal = HexFormat.of();
        return String.join(
                "\t",
                Integer.toString(message.partition()),
                Long.toString(message.offset()),
                hexadecimal.formatHex(MessageDigest.getInstance("SHA-256").digest(value)),
                hexadecimal.formatHex(Arrays.copyOf(value, Math.min(HEAD_BYTES, value.length))));
    }
}
