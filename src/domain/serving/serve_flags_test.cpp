#include "domain/serving/serve_flags.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "domain/workload/shell_text.hpp"

namespace tessera::workload {
namespace {

TensorflowFlags tensorflow() {
    TensorflowFlags out;
    out.serve.name = "mnist";
    out.model_name = "mnist";
    out.model_path = "/models/mnist";
    return out;
}

TensorflowFlags with_share(const std::string& memory) {
    TensorflowFlags out = tensorflow();
    out.serve.pod.gpu.gpumemory = memory;
    return out;
}

// What kubelet makes of a text without variables of the container.
std::string expanded(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '$' && i + 1 < text.size() && text[i + 1] == '$') ++i;
        out += text[i];
    }
    return out;
}

// Runs a script with these variables; its output, and ";STATUS" unless it is 0.
std::string run(const std::string& script, const std::map<std::string, std::string>& variables) {
    std::string line = "env -i ";
    for (const auto& [name, value] : variables)
        line += name + "=" + value + " ";
    line += "/bin/sh -c " + shell_quoted(script) + " 2>&1";
    std::FILE* pipe = ::popen(line.c_str(), "r");
    std::string out;
    std::array<char, 256> part{};
    while (std::fgets(part.data(), part.size(), pipe) != nullptr)
        out += part.data();
    const int status = ::pclose(pipe);
    return status == 0 ? out : out + ";" + std::to_string(WEXITSTATUS(status));
}

// Runs the start of a server with a share of `share` bytes of `visible`, with `echo` in place of
// the server.
std::string start(const Serving& job, const std::string& share, const std::string& visible) {
    std::string script = expanded(job.pod.command.at(2));
    const std::string server = "exec /usr/bin/tensorflow_model_server";
    script.replace(script.find(server), server.size(), "exec echo");
    std::map<std::string, std::string> variables;
    if (!share.empty()) variables["TESSERA_GPU_MEMORY_BYTES"] = share;
    if (!visible.empty()) variables["TESSERA_GPU_VISIBLE_MEMORY_BYTES"] = visible;
    return run(script, variables);
}

// Goal: TensorFlow's part of the memory that it sees is the share without the CUDA context, rounded
// down to ten thousandths. Method: the script itself, in a shell, with integers of 64 bits.
TEST(TensorflowServing, MemoryFraction) {
    const auto fraction = [](std::int64_t share, std::int64_t visible) {
        const Serving job = tensorflow_serving(with_share("3")).value();
        const std::string said = start(job, std::to_string(share), std::to_string(visible));
        const std::string flag = "--per_process_gpu_memory_fraction=";
        const std::size_t at = said.rfind(flag);
        return at == std::string::npos ? said : said.substr(at + flag.size(), 6);
    };
    EXPECT_EQ(fraction(3 * kGiB, 3 * kGiB), "0.8046");   // (3072 - 600) / 3072, with the guard
    EXPECT_EQ(fraction(3 * kGiB, 15 * kGiB), "0.1609");  // without
    EXPECT_EQ(fraction(141 * kGiB, 141 * kGiB), "0.9958");
    EXPECT_EQ(fraction(600 * kMiB + kMiB, 141 * kGiB),
              "a share of 630194176 bytes has no memory for TensorFlow beside the 629145600 bytes "
              "of its CUDA context; request a larger --gpumemory\n;1");
    EXPECT_EQ(fraction(2 * kGiB, 1000 * kGiB), "0.0014");
}

// Goal: a container that the agent did not complete, or that the agent of an older version
// completed, ends with a text that says so.
TEST(TensorflowServing, MissingVariables) {
    const Serving job = tensorflow_serving(with_share("3")).value();
    EXPECT_NE(start(job, "", "").find("did Tessera's agent start this container?"),
              std::string::npos);
    EXPECT_NE(start(job, "3221225472", "").find("is Tessera's agent older than this command?"),
              std::string::npos);
}

// Goal: no text of a flag is read by a shell or by kubelet.
TEST(TensorflowServing, TextsStayTexts) {
    TensorflowFlags flags = with_share("3");
    flags.model_path = "/models/it's $(date) `x` $HOME";
    const Serving job = tensorflow_serving(flags).value();
    EXPECT_NE(start(job, "3221225472", "3221225472")
                  .find("--model_base_path=/models/it's $(date) `x` $HOME "),
              std::string::npos);
    flags.serve.pod.gpu.gpumemory.clear();
    EXPECT_EQ(tensorflow_serving(flags)->pod.command.back(),
              "--model_base_path=/models/it's $$(date) `x` $$HOME");
}

TEST(TensorflowServing, WithoutAShareThereIsNoShell) {
    TensorflowFlags flags = tensorflow();
    const Serving job = tensorflow_serving(flags).value();
    EXPECT_EQ(job.pod.command,
              (std::vector<std::string>{"/usr/bin/tensorflow_model_server", "--port=8500",
                                        "--rest_api_port=8501", "--model_name=mnist",
                                        "--model_base_path=/models/mnist"}));
    EXPECT_EQ(job.pod.image, "tensorflow/serving:latest");
    flags.serve.pod.gpu.gpus = 1;
    EXPECT_EQ(tensorflow_serving(flags)->pod.command, job.pod.command);
    EXPECT_EQ(tensorflow_serving(flags)->pod.image, "tensorflow/serving:latest-gpu");
}

TEST(TensorflowServing, Probes) {
    TensorflowFlags flags = tensorflow();
    EXPECT_EQ(tensorflow_serving(flags)->pod.readiness->path, "/v1/models/mnist");
    EXPECT_EQ(tensorflow_serving(flags)->pod.startup->failures, 720);
    flags.restful_port = 0;
    EXPECT_EQ(tensorflow_serving(flags)->pod.readiness->action, ProbeAction::tcp);
    EXPECT_EQ(tensorflow_serving(flags)->pod.readiness->port, 8500);
}

TEST(TensorflowServing, VersionPolicy) {
    const auto policy = [](const std::string& text) {
        const auto config = model_config("m", "/p", text);
        return config ? *config : config.error().text;
    };
    const auto whole = [](const std::string& versions) {
        return "model_config_list: { config: { name: \"m\" base_path: \"/p\" model_platform: "
               "\"tensorflow\" model_version_policy: { " +
               versions + " } } }\n";
    };
    EXPECT_EQ(policy("latest"), whole("latest: { num_versions: 1 }"));
    EXPECT_EQ(policy("latest:3"), whole("latest: { num_versions: 3 }"));
    EXPECT_EQ(policy("specific:7"), whole("specific: { versions: 7 }"));
    EXPECT_EQ(policy("specific:1,3"), whole("specific: { versions: 1 versions: 3 }"));
    EXPECT_EQ(policy("all"), whole("all: { }"));
    for (const char* text :
         {"", "newest", "latest:", "latest:0", "latest:x", "specific", "specific:", "specific:1,",
          "specific:,1", "all:1", "specific:-1", "latest:9999999999999999999"})
        EXPECT_TRUE(policy(text).starts_with("--version-policy: ")) << text;
    EXPECT_NE(model_config("m", R"(/a"b\c)", "all")->find(R"(base_path: "/a\"b\\c")"),
              std::string::npos);
    TensorflowFlags flags = tensorflow();
    flags.version_policy = "all";
    const Serving job = tensorflow_serving(flags).value();
    EXPECT_EQ(job.pod.files, (std::vector<File>{{"/etc/tessera/models.config",
                                                 *model_config("mnist", "/models/mnist", "all")}}));
    EXPECT_EQ(job.pod.command.back(), "--model_config_file=/etc/tessera/models.config");
}

TEST(TensorflowServing, Mistakes) {
    const auto expect = [](const std::string& part, TensorflowFlags flags,
                           void (*change)(TensorflowFlags&)) {
        change(flags);
        const auto job = tensorflow_serving(flags);
        ASSERT_FALSE(job) << part;
        EXPECT_EQ(job.error().code, Code::invalid_argument);
        EXPECT_NE(job.error().text.find(part), std::string::npos) << job.error().text;
    };
    using F = TensorflowFlags;
    expect("--model-name: is missing", tensorflow(), [](F& flags) { flags.model_name = ""; });
    expect("--model-name: \"a/b\" has other", tensorflow(),
           [](F& flags) { flags.model_name = "a/b"; });
    expect("--model-path: is missing", tensorflow(), [](F& flags) { flags.model_path = ""; });
    expect("--port: is 0, and so is --restful-port", tensorflow(),
           [](F& flags) { flags.port = flags.restful_port = 0; });
    expect("--restful-port: 8500 is the port grpc-serving already", tensorflow(),
           [](F& flags) { flags.restful_port = 8500; });
    expect("--port: 65536 is not a port", tensorflow(), [](F& flags) { flags.port = 65536; });
    expect("--version-policy: cannot be used with --model-config-file", tensorflow(), [](F& flags) {
        flags.model_config_file = "/c";
        flags.version_policy = "all";
    });
    expect("a share of 600Mi has no memory for TensorFlow", with_share("600Mi"), [](F&) {});
    expect("--gpu-context-memory: ", with_share("3"), [](F& flags) { flags.context_memory = "x"; });
    expect("--replicas: -1", tensorflow(), [](F& flags) { flags.serve.replicas = -1; });
    expect("--name: \"A\" is not a name", tensorflow(), [](F& flags) { flags.serve.name = "A"; });
    expect("--name: \"3d\" is not a name", tensorflow(), [](F& flags) { flags.serve.name = "3d"; });
    expect("--max-surge: \"abc\" is neither", tensorflow(),
           [](F& flags) { flags.serve.max_surge = "abc"; });
    expect("--max-unavailable: \"%\" is neither", tensorflow(),
           [](F& flags) { flags.serve.max_unavailable = "%"; });
    expect("--name: is missing", tensorflow(), [](F& flags) { flags.serve.name = ""; });
    expect("--version: \"1.0\" is not a name", tensorflow(),
           [](F& flags) { flags.serve.version = "1.0"; });
    expect("has 45 characters, and may have at most 44", tensorflow(),
           [](F& flags) { flags.serve.name = std::string(45, 'a'); });
}

TEST(TritonServing, Command) {
    TritonFlags flags;
    flags.serve.name = "resnet";
    EXPECT_NE(triton_serving(flags).error().text.find("--model-repository: is missing"),
              std::string::npos);
    flags.model_repository = "/models";
    flags.load_model = {"a", "b"};
    flags.allow_metrics = true;
    const Serving job = triton_serving(flags).value();
    EXPECT_EQ(job.pod.command,
              (std::vector<std::string>{"tritonserver", "--http-port=8000", "--grpc-port=8001",
                                        "--allow-metrics=true", "--model-repository=/models",
                                        "--metrics-port=8002", "--model-control-mode=explicit",
                                        "--load-model=a", "--load-model=b"}));
    EXPECT_EQ(job.pod.ports,
              (std::vector<Port>{
                  {"http-serving", 8000}, {"grpc-serving", 8001}, {"http-metrics", 8002}}));
    EXPECT_EQ(job.pod.liveness->path, "/v2/health/live");
    EXPECT_EQ(job.pod.readiness->path, "/v2/health/ready");
    EXPECT_EQ(job.id.object(), "resnet-tritoninferenceserver");
    flags.extend_command = "--log-verbose=1 $MORE";
    EXPECT_EQ(triton_serving(flags)->pod.command.at(2),
              "exec tritonserver --http-port=8000 --grpc-port=8001 --allow-metrics=true "
              "--model-repository=/models --metrics-port=8002 --model-control-mode=explicit "
              "--load-model=a --load-model=b --log-verbose=1 $$MORE");
}

TEST(CustomServing, Command) {
    CustomFlags flags;
    flags.serve.name = "style";
    flags.serve.version = "v1";
    EXPECT_NE(custom_serving(flags).error().text.find("--image: is missing"), std::string::npos);
    flags.serve.pod.image = "style:1";
    EXPECT_NE(custom_serving(flags).error().text.find("--restful-port: is missing"),
              std::string::npos);
    flags.restful_port = 5000;
    flags.words = {"python", "app.py"};
    const Serving job = custom_serving(flags).value();
    EXPECT_EQ(job.pod.command, (std::vector<std::string>{"sh", "-c", "python app.py"}));
    EXPECT_EQ(job.pod.readiness->action, ProbeAction::tcp);
    EXPECT_EQ(job.id.object(), "style-v1-custom-serving");
    flags.serve.pod.command = "ruby";
    EXPECT_NE(custom_serving(flags).error().text.find("--command: cannot be used"),
              std::string::npos);
    flags.serve.pod.command.clear();
    flags.health_path = "/healthz";
    EXPECT_EQ(custom_serving(flags)->pod.readiness->path, "/healthz");
    flags.health_path = "healthz";
    EXPECT_FALSE(custom_serving(flags));
}

// Goal: Arena's probe flags change one probe each, and the others keep their defaults.
TEST(CustomServing, Probes) {
    CustomFlags flags;
    flags.serve.name = "style";
    flags.serve.pod.image = "style:1";
    flags.restful_port = 5000;
    flags.readiness = {"exec", {"command: cat /ready"}, {"successThreshold: 2"}};
    const Serving job = custom_serving(flags).value();
    const PodTemplate& pod = job.pod;
    EXPECT_EQ(pod.readiness->action, ProbeAction::exec);
    EXPECT_EQ(pod.readiness->successes, 2);
    EXPECT_EQ(pod.liveness->action, ProbeAction::tcp);
    EXPECT_EQ(pod.startup->failures, 720);
    flags.liveness.options = {"successThreshold: 2"};
    EXPECT_EQ(custom_serving(flags).error().code, Code::invalid_argument);
}

// Goal: Arena's variables are there, and one of the user's of such a name stays.
TEST(CustomServing, ArenaVariables) {
    CustomFlags flags;
    flags.serve.name = "style";
    flags.serve.pod.image = "style:1";
    flags.restful_port = 5000;
    flags.serve.pod.gpu.gpumemory = "2";
    flags.serve.pod.env = {"ARENA_POD_IP=mine"};
    std::string names;
    const Serving job = custom_serving(flags).value();
    for (const EnvVar& variable : job.pod.env)
        names += fmt::format("{}={}{} ", variable.name, variable.value, variable.field_path);
    EXPECT_EQ(names,
              "ARENA_POD_IP=mine ARENA_NODE_NAME=spec.nodeName "
              "ARENA_POD_NAMESPACE=metadata.namespace ARENA_POD_NAME=metadata.name ");
}

// Goal: files with other contents have another ConfigMap, so that running pods keep theirs.
TEST(Serving, NameOfItsFiles) {
    TensorflowFlags flags = tensorflow();
    flags.version_policy = "all";
    const std::string all = files_name(*tensorflow_serving(flags));
    EXPECT_TRUE(all.starts_with("mnist-tensorflow-serving-"));
    EXPECT_EQ(files_name(*tensorflow_serving(flags)), all);
    flags.version_policy = "latest";
    EXPECT_NE(files_name(*tensorflow_serving(flags)), all);
}

TEST(Serving, Types) {
    for (const ServingTypeRow& row : kServingTypes) {
        EXPECT_EQ(parse_serving_type(row.word), row.type);
        EXPECT_EQ(parse_serving_type(row.command), row.type);
    }
    EXPECT_EQ(parse_serving_type("tf"), ServingType::tensorflow);
    EXPECT_FALSE(parse_serving_type("seldon"));
}

TEST(ShellText, Quotes) {
    EXPECT_EQ(shell_quoted("a-b_c/d:e=f,1%"), "a-b_c/d:e=f,1%");
    EXPECT_EQ(shell_quoted(""), "''");
    EXPECT_EQ(shell_quoted("a b"), "'a b'");
    EXPECT_EQ(shell_quoted("it's"), R"('it'\''s')");
    EXPECT_EQ(shell_line(std::vector<std::string>{"a", "b c", "$d"}), "a 'b c' '$d'");
    EXPECT_EQ(unexpanded("$(A) $$"), "$$(A) $$$$");
}

}  // namespace
}  // namespace tessera::workload
