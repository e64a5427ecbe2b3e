// The pod template of a workload, as JSON.
#pragma once

#include <string_view>

#include "domain/workload/pod_template.hpp"
#include "wire/text/json.hpp"

namespace tessera::workload {

// Writes the members `metadata` and `spec` of a PodTemplateSpec into the object that is being
// written. `labels` are added to those of the template. `files`: the ConfigMap with the template's
// files.
void write_pod_template(JsonWriter& w, const PodTemplate& pod, const StringMap& labels,
                        std::string_view files);

// The name of the volume with the files.
inline constexpr std::string_view kFilesVolume = "tessera-files";

// The key of a file in that ConfigMap.
std::string file_key(std::size_t position);

// Writes the members of that ConfigMap beside its head.
void write_files(JsonWriter& w, const std::vector<File>& files);

// Writes the member `env` of a container, if there are variables.
void write_env(JsonWriter& w, const std::vector<EnvVar>& env);

// Writes a map as an object, if it has an entry.
void write_map(JsonWriter& w, std::string_view key, const StringMap& map);

}  // namespace tessera::workload
