// Reading a program's configuration file.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>

#include "programs/common/config.hpp"

namespace tessera {
namespace {

std::string list_of_names(std::span<const ConfigRow> rows) {
    std::string out;
    for (const ConfigRow& row : rows) {
        out += out.empty() ? "" : ", ";
        out += row.name;
    }
    return out;
}

// Counts documents by their markers (YAML 1.2, 9.1.2: no content line begins with one). yaml-cpp's
// Load reads only the first document, and its LoadAll does not terminate on some malformed texts.
bool holds_several_documents(const std::string& yaml) {
    int documents = 0;
    std::istringstream lines(yaml);
    for (std::string line; std::getline(lines, line);) {
        const bool is_marker = line.starts_with("---") && line.find_first_not_of(" \t\r", 3) != 3;
        const std::size_t first = line.find_first_not_of(" \t\r\xef\xbb\xbf");  // includes a BOM
        const bool is_content =
            first != std::string::npos && line[first] != '#' && !line.starts_with('%');
        if (is_marker || (is_content && documents == 0)) ++documents;
    }
    return documents > 1;
}

}  // namespace

Result<ConfigValues> read_config_file(std::span<const ConfigRow> rows, const std::string& yaml) {
    ConfigValues values;
    std::string faults;
    try {
        if (holds_several_documents(yaml))
            return fail(Code::invalid_argument, "holds several YAML documents; keep one");
        const YAML::Node root = YAML::Load(yaml);
        if (root.IsNull()) return values;
        if (!root.IsMap())
            return fail(Code::invalid_argument, "is not a mapping of keys to values");
        for (const auto& pair : root) {
            const auto key = pair.first.as<std::string>();
            const bool known = std::ranges::find(rows, key, &ConfigRow::name) != rows.end();
            if (!known) {
                faults += fmt::format("{}{}: unknown key", faults.empty() ? "" : "; ", key);
            } else if (!pair.second.IsScalar()) {
                faults +=
                    fmt::format("{}{}: needs a single value", faults.empty() ? "" : "; ", key);
            } else if (!values.emplace(key, pair.second.as<std::string>()).second) {
                faults += fmt::format("{}{}: appears twice", faults.empty() ? "" : "; ", key);
            }
        }
    } catch (const YAML::Exception& error) {
        return fail(Code::invalid_argument, error.what());
    }
    if (faults.empty()) return values;
    return fail(Code::invalid_argument, faults + " (known keys: " + list_of_names(rows) + ")");
}

}  // namespace tessera
