// Serving jobs: a model server as a Deployment with a Service (`tessera serve`).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "domain/serving/scaling.hpp"
#include "domain/workload/pod_template.hpp"

namespace tessera::workload {

enum class ServingType { tensorflow, triton, custom };

struct ServingTypeRow {
    ServingType type;
    std::string_view command;  // of `tessera serve`
    std::string_view word;     // the value of --type, of the label and in JSON, as in Arena
    std::string_view title;    // in tables
    std::string_view app;      // ends the names of its objects
    std::string_view container;
};

inline constexpr auto kServingTypes = std::to_array<ServingTypeRow>({
    {ServingType::tensorflow, "tensorflow", "tf-serving", "Tensorflow", "tensorflow-serving",
     "serving"},
    {ServingType::triton, "triton", "triton-serving", "Triton", "tritoninferenceserver",
     "tritonserver"},
    {ServingType::custom, "custom", "custom-serving", "Custom", "custom-serving", "custom-serving"},
});

const ServingTypeRow& row_of(ServingType type);
// By the command, its short form `tf`, or the word. invalid_argument lists them.
Result<ServingType> parse_serving_type(std::string_view text);

// The names of the ports, as Arena has them.
inline constexpr std::string_view kGrpcPort = "grpc-serving";
inline constexpr std::string_view kRestPort = "http-serving";
inline constexpr std::string_view kMetricsPort = "http-metrics";

// A serving job is identified by all three. An empty version is a version, too.
struct ServingName {
    std::string name;
    std::string version;
    ServingType type = ServingType::tensorflow;

    // The name of its Deployment and Service: NAME[-VERSION]-APP, as in Arena.
    [[nodiscard]] std::string object() const;

    friend bool operator==(const ServingName&, const ServingName&) = default;
};

// invalid_argument if the names of the objects would not be legal: the text says what is allowed.
Result<> check_serving_name(const ServingName& id);

struct Serving {
    ServingName id;
    std::string ns;
    int replicas = 1;
    std::string max_surge;        // of the rolling update; empty: that of Kubernetes
    std::string max_unavailable;  // the same
    PodTemplate pod;
    std::optional<Scaling> scaling{};  // nothing: `replicas` stays
    // Whether the Service that the versions of its name share selects its pods (traffic_split.hpp).
    // Of an update: what the job has; nothing: no label says so, and it is written as false.
    std::optional<bool> in_split = true;
    // The arguments of `tessera`, by which `serve update` makes the job again.
    std::vector<std::string> arguments;
    // What the user should know of the flags; for stderr.
    std::vector<std::string> notes;
};

// What of a job's Deployment an update writes. The rest does not change, also if another program
// wrote it.
struct ServingChange {
    bool pods = false;      // the pod template
    bool replicas = false;  // their number
    bool strategy = false;  // of the rolling update
    bool scaling = false;   // its HorizontalPodAutoscaler

    [[nodiscard]] bool any() const { return pods || replicas || strategy || scaling; }

    friend bool operator==(const ServingChange&, const ServingChange&) = default;
};

// What differs, apart from the number of pods.
ServingChange change_between(const Serving& before, const Serving& after);

// As files_name() of pod_template.hpp.
std::string files_name(const Serving& job);

}  // namespace tessera::workload
