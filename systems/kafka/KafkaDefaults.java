import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.server.config.AbstractKafkaConfig;

/** Prints a broker's own default of every setting as key=value. */
public class KafkaDefaults {
    public static void main(String[] arguments) {
        var found = new TreeMap<String, String>();
        for (var key : AbstractKafkaConfig.CONFIG_DEF.configKeys().values()) {
            boolean none = key.defaultValue == ConfigDef.NO_DEFAULT_VALUE;
            found.put(key.name, none ? "<none>" : ConfigDef.convertToString(key.defaultValue, key.type));
        }
        found.forEach((key, value) -> System.out.println("broker " + key + "=" + value));
    }
}
