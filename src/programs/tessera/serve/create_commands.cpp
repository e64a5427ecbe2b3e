// serve tensorflow, triton, custom and update.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <utility>

#include "adapters/workload/kube_servings.hpp"
#include "app/workload/serve.hpp"
#include "base/dns_name.hpp"
#include "domain/workload/shell_text.hpp"
#include "programs/common/yaml_text.hpp"
#include "programs/tessera/serve/serve_commands.hpp"
#include "programs/tessera/serve/serve_flags_options.hpp"
#include "wire/workload/serving_json.hpp"

namespace tessera {
namespace {

using workload::Serving;
using workload::ServingType;

// A kind of server: its flags and what they mean.
template <class FlagsOfKind>
struct Kind {
    using Flags = FlagsOfKind;
    ServingType type;
    void (*add)(CLI::App& command, Flags& flags);
    Result<Serving> (*make)(const Flags& flags);
};
constexpr Kind<workload::TensorflowFlags> kTensorflow{ServingType::tensorflow, add_tensorflow_flags,
                                                      workload::tensorflow_serving};
constexpr Kind<workload::TritonFlags> kTriton{ServingType::triton, add_triton_flags,
                                              workload::triton_serving};
constexpr Kind<workload::CustomFlags> kCustom{ServingType::custom, add_custom_flags,
                                              workload::custom_serving};

void say(const std::string& line) {
    std::cout << line << "\n" << std::flush;
}

void warn(const std::string& line) {
    std::cerr << "tessera: " << line << "\n";
}

// Flags bound to a command. The command outlives it.
template <class KindOf>
struct Bound {
    typename KindOf::Flags flags;
    CreateOptions options;
    const CLI::App* command = nullptr;

    void bind(CLI::App& app, const KindOf& kind) {
        add_serve_flags(app, flags.serve, options);
        kind.add(app, flags);
        command = &app;
    }
    // The job that the flags describe.
    Result<Serving> job(const KindOf& kind, const std::string& ns) {
        TRY(flags.serve.pod.files, read_config_files(options.config_files));
        flags.serve.ns = ns;
        TRY(Serving out, kind.make(flags));
        out.arguments = given_flags(*command);
        const auto names = {std::string("serve"), std::string(row_of(kind.type).command)};
        out.arguments.insert(out.arguments.begin(), names);
        for (const std::string& note : out.notes)
            warn(note);
        return out;
    }
};

Result<std::string> checked_namespace(const std::string& given, const KubeConnection& connection) {
    const std::string& ns = given.empty() ? connection.ns : given;
    if (is_dns_label(ns)) return ns;
    return fail(Code::invalid_argument,
                fmt::format("--namespace: \"{}\" is not a valid namespace name", ns));
}

void print_objects(const Serving& job, const std::string& format) {
    std::vector<std::string> objects{workload::write_serving_deployment(job)};
    if (!job.pod.files.empty()) objects.push_back(workload::write_serving_files(job, ""));
    objects.push_back(workload::write_serving_service(job, ""));
    for (const std::string& object : objects) {
        if (format == "json") {
            say(object);
        } else {
            std::cout << "---\n" << yaml_of_json(object);
        }
    }
}

// --dry-run needs no cluster.
Result<KubeConnection> connection_for(const CreateOptions& options) {
    auto connection = connect_info(options.kube);
    if (!connection && options.dry_run && options.kube.path.empty())
        return KubeConnection{.endpoint = {}, .ns = "default"};
    return connection;
}

template <class KindOf>
Result<int> create(Bound<KindOf>& bound, const KindOf& kind) {
    const CreateOptions& options = bound.options;
    TRY(const KubeConnection connection, connection_for(options));
    TRY(const std::string ns, checked_namespace(bound.flags.serve.ns, connection));
    TRY(const Serving job, bound.job(kind, ns));
    if (options.dry_run) {
        print_objects(job, options.output);
        return 0;
    }
    HttpClient api(connection.endpoint);
    KubeServings cluster(api);
    TRY_VOID(create_serving(cluster, job, say, warn));
    say(
        fmt::format("The serving job {0} is created. See how it starts: tessera serve get {0} -n "
                    "{1}",
                    job.id.name, job.ns));
    return 0;
}

template <class KindOf>
CommandRow create_row(const KindOf& kind, std::string_view summary, std::string_view example,
                      std::vector<std::string> aliases) {
    return {.name = row_of(kind.type).command,
            .summary = summary,
            .example = example,
            .options = [&kind](CLI::App& command) -> CommandRun {
                auto bound = std::make_shared<Bound<KindOf>>();
                bound->bind(command, kind);
                return [bound, &kind] { return create(*bound, kind); };
            },
            .aliases = std::move(aliases)};
}

// The ports of a Service do not change, because its clients know them.
Result<> check_ports(const Serving& job, const workload::ServingStatus& before) {
    for (const workload::Port& port : job.pod.ports) {
        const auto same =
            std::ranges::find(before.ports, port.number, &workload::ServicePort::port);
        if (same == before.ports.end() || same->name != port.name) {
            return fail(Code::invalid_argument,
                        fmt::format("port {}: the Service of the job has other ports, which cannot "
                                    "be updated; delete the job and serve it again",
                                    port.number));
        }
    }
    return {};
}

// Without the names of the command.
std::vector<std::string> flags_of(const std::vector<std::string>& arguments) {
    const auto first = std::ranges::find_if(
        arguments, [](const std::string& argument) { return argument.starts_with('-'); });
    return {first, arguments.end()};
}

// Makes the job again, by its own flags and those that were given now.
template <class KindOf>
Result<int> update(Bound<KindOf>& given, const KindOf& kind) {
    TRY(const KubeConnection connection, connect_info(given.options.kube));
    TRY(const std::string ns, checked_namespace(given.flags.serve.ns, connection));
    HttpClient api(connection.endpoint);
    KubeServings cluster(api);
    ServingChoice choice{
        .ns = ns, .name = given.flags.serve.name, .version = {}, .type = kind.type};
    if (!given.flags.serve.version.empty()) choice.version = given.flags.serve.version;
    TRY(const workload::ServingStatus before, find_serving(cluster, choice));
    const std::vector<std::string> now = given_flags(*given.command);
    CLI::App app;
    Bound<KindOf> merged;
    merged.bind(app, kind);
    std::vector<std::string> words = merged_flags(flags_of(before.arguments), now);
    std::ranges::reverse(words);
    try {
        app.parse(words);
    } catch (const CLI::ParseError& error) {
        return fail(Code::conflict,
                    fmt::format("the annotation {} of deployment {} cannot be read: {}; delete the "
                                "job and serve it again",
                                workload::kCommandAnnotation, before.object, error.what()));
    }
    TRY(const Serving job, merged.job(kind, ns));
    TRY_VOID(check_ports(job, before));
    if (given.options.dry_run) {
        print_objects(job, given.options.output);
        return 0;
    }
    if (!job.pod.files.empty()) TRY_VOID(cluster.create_files(job, before.uid));
    const bool replicas = given.command->get_option("--replicas")->count() > 0;
    TRY_VOID(cluster.update(job, before, replicas));
    say(fmt::format("deployment.apps/{} updated", job.id.object()));
    return 0;
}

template <class KindOf>
CommandRow update_row(const KindOf& kind, std::string_view example,
                      std::vector<std::string> aliases) {
    return {.name = row_of(kind.type).command,
            .summary = "Change flags of a serving job, and keep the others",
            .example = example,
            .options = [&kind](CLI::App& command) -> CommandRun {
                auto bound = std::make_shared<Bound<KindOf>>();
                bound->bind(command, kind);
                return [bound, &kind] { return update(*bound, kind); };
            },
            .aliases = std::move(aliases)};
}

}  // namespace

CommandRow serve_tensorflow_command() {
    return create_row(kTensorflow, "Serve models with TensorFlow Serving",
                      "tessera serve tensorflow --name mnist --model-name mnist --model-path "
                      "/models/mnist --data models:/models --gpumemory 3",
                      {"tf"});
}

CommandRow serve_triton_command() {
    return create_row(kTriton, "Serve models with NVIDIA Triton",
                      "tessera serve triton --name resnet --model-repository /models --data "
                      "models:/models --gpumemory 6",
                      {});
}

CommandRow serve_custom_command() {
    return create_row(kCustom, "Serve models with a server of your own",
                      "tessera serve custom --name style --image registry.example.com/style:1 "
                      "--restful-port 5000 --gpumemory 2 -- python app.py",
                      {});
}

CommandRow serve_update_command() {
    return {.name = "update",
            .summary = "Change a serving job",
            .example = "tessera serve update tensorflow --name mnist --gpumemory 4",
            .commands = {
                update_row(kTensorflow,
                           "tessera serve update tensorflow --name mnist --gpumemory 4", {"tf"}),
                update_row(kTriton, "tessera serve update triton --name resnet --replicas 2", {}),
                update_row(kCustom,
                           "tessera serve update custom --name style --image "
                           "registry.example.com/style:2",
                           {}),
            }};
}

}  // namespace tessera
