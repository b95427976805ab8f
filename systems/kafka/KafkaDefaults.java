import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.storage.internals.log.LogConfig;

/** Prints the code's own default of every setting of a broker and of a topic, as "broker key=value" and "topic key=value". */
public class KafkaDefaults {
    public static void main(String[] arguments) {
        print("broker", AbstractKafkaConfig.CONFIG_DEF.configKeys());
        print("topic", LogConfig.configKeys());
        // each listener and each provider has settings of its own, below its name
        System.out.println("broker listener.name.*");
        System.out.println("broker config.providers.*");
    }

    private static void print(String kind, Map<String, ConfigDef.ConfigKey> keys) {
        var found = new TreeMap<String, String>();
        for (var key : keys.values()) {
            boolean none = key.defaultValue == ConfigDef.NO_DEFAULT_VALUE;
            found.put(key.name, none ? "" : "=" + ConfigDef.convertToString(key.defaultValue, key.type));
        }
        found.forEach((key, value) -> System.out.println(kind + " " + key + value));
    }
}
