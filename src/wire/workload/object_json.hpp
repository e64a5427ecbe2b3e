// What the objects of serving and training jobs share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/string_map.hpp"
#include "wire/text/json.hpp"
#include "wire/workload/pod_template_json.hpp"

namespace tessera::workload {

inline constexpr std::string_view kAppLabel = "app.kubernetes.io/name";
inline constexpr std::string_view kInstanceLabel = "app.kubernetes.io/instance";
inline constexpr std::string_view kManagedByLabel = "app.kubernetes.io/managed-by";
inline constexpr std::string_view kTessera = "tessera";  // the value of kManagedByLabel

// Of the anchor: the arguments of the command that made it, as a JSON array of strings.
inline constexpr std::string_view kCommandAnnotation = "tessera.dev/command";

std::string write_arguments(const std::vector<std::string>& arguments);
// Empty if the text is no such array.
std::vector<std::string> read_arguments(const std::string& text);

// The object that owns the others of a job: when it is deleted, they are.
struct Owner {
    std::string_view api;
    std::string_view kind;
    std::string_view name;
    std::string_view uid;  // empty: no owner reference
};

struct ObjectHead {
    std::string_view api;
    std::string_view kind;
    std::string_view name;
    std::string_view ns;
    StringMap labels;
    StringMap annotations = {};
    Owner owner = {};
};

// Writes the members apiVersion, kind and metadata into the object that is being written.
void write_head(JsonWriter& w, const ObjectHead& head);

// Writes an entry of a Service's ports into the array that is being written. The container's port
// has the same name.
void write_service_port(JsonWriter& w, std::string_view name, int number);

// Whether the object has an owner reference to this uid.
bool is_owned_by(JsonValue object, std::string_view uid);

// `first`, and what of `second` is not in it.
StringMap joined(StringMap first, const StringMap& second);

}  // namespace tessera::workload
