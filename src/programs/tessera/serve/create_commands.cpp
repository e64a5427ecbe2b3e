// serve tensorflow, triton, custom and update.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "adapters/workload/kube_servings.hpp"
#include "app/workload/progress.hpp"
#include "app/workload/serve.hpp"
#include "domain/workload/recorded_flags.hpp"
#include "programs/common/command_line.hpp"
#include "programs/tessera/serve/serve_commands.hpp"
#include "programs/tessera/serve/serve_flags_options.hpp"
#include "wire/workload/object_json.hpp"
#include "wire/workload/scaler_json.hpp"
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
    // The job that the flags describe, with these files.
    Result<Serving> job(const KindOf& kind, std::vector<workload::File> files) {
        flags.serve.pod.files = std::move(files);
        TRY(Serving out, kind.make(flags));
        TRY(out.arguments,
            recorded_arguments(*command, {"serve", std::string(row_of(kind.type).command)}));
        return out;
    }
};

std::vector<std::string> objects_of(const Serving& job) {
    std::vector<std::string> objects{workload::write_serving_deployment(job)};
    if (!job.pod.files.empty()) objects.push_back(workload::write_serving_files(job, ""));
    if (job.scaling) objects.push_back(workload::write_scaler(job, ""));
    objects.push_back(workload::write_serving_service(job, ""));
    return objects;
}

Result<int> wait_for(KubeServings& cluster, const Serving& job, const WaitOptions& options) {
    return wait_until_done(options, [&]() -> Result<Waiting> {
        TRY(const auto now, find_serving(cluster, {.ns = job.ns,
                                                   .name = job.id.name,
                                                   .version = job.id.version,
                                                   .type = job.id.type}));
        return Waiting{.progress = progress_of(now, false), .is_done = now.is_settled};
    });
}

template <class KindOf>
Result<int> create(Bound<KindOf>& bound, const KindOf& kind) {
    const CreateOptions& options = bound.options;
    TRY_VOID(options.wait.check());
    TRY(auto files, read_config_files(options.config_files));
    TRY(Serving job, bound.job(kind, std::move(files)));
    for (const std::string& note : job.notes)
        warn(note);
    TRY(const KubeConnection connection, connection_for(options));
    TRY(job.ns, checked_namespace(bound.flags.serve.ns, connection));
    if (options.dry_run) {
        print_objects(objects_of(job), options.output);
        return 0;
    }
    HttpClient api(connection.endpoint);
    KubeServings cluster(api);
    TRY_VOID(create_serving(cluster, job, say, warn));
    say(
        fmt::format("The serving job {0} is created. See how it starts: tessera serve get {0} -n "
                    "{1}",
                    job.id.name, job.ns));
    return wait_for(cluster, job, options.wait);
}

// Files that this command does not name are those that the job has.
std::vector<workload::File> files_for(const std::vector<workload::File>& there,
                                      const std::vector<std::string>& config_files) {
    std::vector<workload::File> out;
    for (const std::string& text : config_files) {
        const std::string path = text.substr(text.find(':') + 1);
        const auto file = std::ranges::find(there, path, &workload::File::path);
        if (file != there.end()) out.push_back(*file);
    }
    return out;
}

// The job that these flags describe. The files of `named` are read, the others are `there`.
template <class KindOf>
Result<Serving> job_of(const KindOf& kind, const workload::RecordedFlags& words,
                       const std::vector<workload::File>& there,
                       const std::vector<std::string>& named) {
    CLI::App app;
    Bound<KindOf> bound;
    bound.bind(app, kind);
    try {
        app.parse(command_line(app, words));
    } catch (const CLI::ParseError& error) {
        return fail(Code::conflict,
                    fmt::format("the annotation {} of the deployment cannot be read: {}; delete "
                                "the job and serve it again",
                                workload::kCommandAnnotation, error.what()));
    }
    std::vector<std::string> kept = bound.options.config_files;
    std::erase_if(kept, [&](const std::string& text) {
        return std::ranges::find(named, text) != named.end();
    });
    TRY(std::vector<workload::File> files, read_config_files(named));
    std::ranges::move(files_for(there, kept), std::back_inserter(files));
    return bound.job(kind, std::move(files));
}

// Makes the job again, by its own flags and those that were given now.
template <class KindOf>
Result<int> update(Bound<KindOf>& given, const KindOf& kind) {
    TRY_VOID(given.options.wait.check());
    TRY(const KubeConnection connection, connect_info(given.options.kube));
    TRY(const std::string ns, checked_namespace(given.flags.serve.ns, connection));
    HttpClient api(connection.endpoint);
    KubeServings cluster(api);
    ServingChoice choice{
        .ns = ns, .name = given.flags.serve.name, .version = {}, .type = kind.type};
    if (given.command->get_option("--version")->count() > 0)
        choice.version = given.flags.serve.version;
    TRY(const workload::ServingStatus before, find_serving(cluster, choice));
    const workload::RecordedFlags recorded = workload::flags_of(before.arguments);
    TRY(const auto there, cluster.files(before));
    TRY(const Serving earlier, job_of(kind, recorded, there, {}));
    const std::vector<std::string> named = with_paths(given.options.config_files);
    TRY(Serving job,
        job_of(kind, workload::merged_flags(recorded, given_flags(*given.command)), there, named));
    job.ns = ns;
    job.in_split = before.in_split;
    if (given.options.dry_run) {
        print_objects(objects_of(job), given.options.output);
        return 0;
    }
    for (const std::string& note : job.notes)
        warn(note);
    const bool replicas = given.command->get_option("--replicas")->count() > 0;
    TRY_VOID(update_serving(cluster, before, earlier, job, replicas, say));
    return wait_for(cluster, job, given.options.wait);
}

// The row of a command that runs `run` with the flags of this kind.
template <class KindOf>
CommandRow row(const KindOf& kind, std::string_view summary, std::string_view example,
               Result<int> (*run)(Bound<KindOf>& bound, const KindOf& kind),
               const std::vector<std::string>& aliases = {}) {
    return {.name = row_of(kind.type).command,
            .summary = summary,
            .example = example,
            .options = [&kind, run](CLI::App& command) -> CommandRun {
                auto bound = std::make_shared<Bound<KindOf>>();
                bound->bind(command, kind);
                return [bound, &kind, run] { return run(*bound, kind); };
            },
            .aliases = aliases};
}

constexpr std::string_view kUpdate = "Change flags of a serving job, and keep the others";

}  // namespace

CommandRow serve_tensorflow_command() {
    return row(kTensorflow, "Serve models with TensorFlow Serving",
               "tessera serve tensorflow --name mnist --model-name mnist --model-path "
               "/models/mnist --data models:/models --gpumemory 3",
               create, {"tf"});
}

CommandRow serve_triton_command() {
    return row(kTriton, "Serve models with NVIDIA Triton",
               "tessera serve triton --name resnet --model-repository /models --data "
               "models:/models --gpumemory 6",
               create);
}

CommandRow serve_custom_command() {
    return row(kCustom, "Serve models with a server of your own",
               "tessera serve custom --name style --image registry.example.com/style:1 "
               "--restful-port 5000 --gpumemory 2 -- python app.py",
               create);
}

CommandRow serve_update_command() {
    return {.name = "update",
            .summary = "Change a serving job",
            .example = "tessera serve update tensorflow --name mnist --gpumemory 4",
            .commands = {
                row(kTensorflow, kUpdate,
                    "tessera serve update tensorflow --name mnist --gpumemory 4", update, {"tf"}),
                row(kTriton, kUpdate,
                    "tessera serve update triton --name resnet --gpucore 30 --max-replicas 4 "
                    "--target-gpu-use 60",
                    update),
                row(kCustom, kUpdate,
                    "tessera serve update custom --name style --image "
                    "registry.example.com/style:2",
                    update),
            }};
}

}  // namespace tessera
