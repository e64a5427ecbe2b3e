#include "programs/common/yaml_text.hpp"

#include <yaml-cpp/yaml.h>

namespace tessera {
namespace {

void emit(const YAML::Node& node, YAML::Emitter& out) {
    if (node.IsMap()) {
        out << YAML::BeginMap;
        for (const auto& pair : node) {
            out << YAML::Key << pair.first.as<std::string>() << YAML::Value;
            emit(pair.second, out);
        }
        out << YAML::EndMap;
    } else if (node.IsSequence()) {
        if (node.size() == 0) out << YAML::Flow;
        out << YAML::BeginSeq;
        for (const YAML::Node& item : node)
            emit(item, out);
        out << YAML::EndSeq;
    } else {
        const bool was_quoted = node.Tag() == "!";
        if (was_quoted) out << YAML::DoubleQuoted;
        out << node.as<std::string>();
    }
}

}  // namespace

std::string yaml_of_json(const std::string& json) {
    YAML::Emitter out;
    emit(YAML::Load(json), out);
    return std::string(out.c_str()) + "\n";
}

}  // namespace tessera
