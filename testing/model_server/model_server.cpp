// A small server that has the flags and the interfaces of TensorFlow Serving, for tests of
// `tessera serve`: REST here, gRPC in grpc_api.hpp. Like TensorFlow, it takes its part of the GPU's
// memory through the CUDA driver when it starts, so the guard sees it.
//
// Source: TensorFlow Serving's documentation, "RESTful API" and "Serving Configuration".
#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "adapters/http/http.hpp"
#include "api/nvidia/cuda.h"
#include "testing/model_server/grpc_api.hpp"
#include "testing/model_server/models.hpp"

namespace {

using model_server::fail;
using model_server::ModelConfig;
using model_server::Models;
using model_server::Versions;
using nlohmann::json;

struct Options {
    int port = 0;  // of gRPC; 0: none
    int rest_port = 0;
    std::string model_name;
    std::string model_base_path;
    std::string model_config_file;
    std::string monitoring_config_file;
    std::optional<double> fraction;
};

Options parse(int argc, char** argv) {
    Options out;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const std::size_t equals = word.find('=');
        const std::string flag = word.substr(0, equals);
        const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
        if (flag == "--rest_api_port") {
            out.rest_port = std::stoi(value);
        } else if (flag == "--model_name") {
            out.model_name = value;
        } else if (flag == "--model_base_path") {
            out.model_base_path = value;
        } else if (flag == "--model_config_file") {
            out.model_config_file = value;
        } else if (flag == "--monitoring_config_file") {
            out.monitoring_config_file = value;
        } else if (flag == "--per_process_gpu_memory_fraction") {
            out.fraction = std::stod(value);
        } else if (flag == "--port") {
            out.port = std::stoi(value);
        } else {
            fail("unknown flag " + flag);
        }
    }
    return out;
}

std::vector<ModelConfig> models_of(const Options& options) {
    if (!options.model_config_file.empty())
        return model_server::read_config(options.model_config_file);
    return {{.name = options.model_name, .base_path = options.model_base_path, .specific = {}}};
}

void check(const char* call, CUresult result) {
    if (result != CUDA_SUCCESS) fail(fmt::format("{}: CUDA error {}", call, int{result}));
}

void take_memory(double fraction) {
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUdeviceptr pointer = 0;
    std::size_t total = 0;
    check("cuInit", cuInit(0));
    check("cuDeviceGet", cuDeviceGet(&device, 0));
    check("cuDeviceTotalMem", cuDeviceTotalMem_v2(&total, device));
    check("cuCtxCreate", cuCtxCreate_v2(&context, 0, device));
    const auto bytes = static_cast<std::size_t>(static_cast<double>(total) * fraction);
    check("cuMemAlloc", cuMemAlloc_v2(&pointer, bytes));
    std::printf("allocated %zu of %zu bytes of GPU 0\n", bytes, total);
}

json status_of(const Versions& versions) {
    json out = json::array();
    for (const auto& [number, weights] : versions) {
        out.push_back({{"version", std::to_string(number)},
                       {"state", "AVAILABLE"},
                       {"status", {{"error_code", "OK"}, {"error_message", ""}}}});
    }
    return {{"model_version_status", out}};
}

tessera::HttpResponse answer(int status, const json& body) {
    return {.status = status, .body = body.dump()};
}

tessera::HttpResponse predict(const std::string& text, const Versions& versions,
                              const std::string& version) {
    std::optional<std::int64_t> number;
    if (!version.empty()) number = std::stoll(version);
    const model_server::Weights* weights = model_server::weights_of(versions, number);
    if (weights == nullptr)
        return answer(404, {{"error", "Servable not found for version " + version}});
    const json body = json::parse(text, nullptr, false);
    if (!body.is_object() || !body.contains("instances") || !body["instances"].is_array())
        return answer(400, {{"error", "Missing 'instances' key"}});
    json out = json::array();
    for (const json& instance : body["instances"]) {
        if (!instance.is_number()) return answer(400, {{"error", "an instance is no number"}});
        out.push_back(weights->a * instance.get<double>() + weights->b);
    }
    return answer(200, {{"predictions", out}});
}

// The metrics of a server: its path in the monitoring configuration (empty: none), and the number
// of predictions.
struct Metrics {
    std::string path;
    std::atomic<std::int64_t> predictions = 0;
};

// The path of prometheus_config.
std::string metrics_path(const std::string& config_file) {
    if (config_file.empty()) return {};
    static const std::regex field(
        R"re(prometheus_config\s*\{\s*enable:\s*true,\s*path:\s*"([^"]*)"\s*\})re");
    const std::string text = model_server::read_file(config_file);
    std::smatch found;
    if (!std::regex_search(text, found, field)) fail("no prometheus_config in " + config_file);
    return found[1];
}

tessera::HttpResponse expose(const Metrics& metrics) {
    return {.body = fmt::format("# TYPE :tensorflow:serving:request_count counter\n"
                                ":tensorflow:serving:request_count{{model_name=\"all\",status="
                                "\"OK\"}} {}\n",
                                metrics.predictions.load()),
            .content_type = "text/plain"};
}

tessera::HttpResponse respond(const tessera::HttpRequest& request, const Models& models,
                              Metrics& metrics) {
    if (!metrics.path.empty() && request.path == metrics.path) return expose(metrics);
    static const std::regex form(R"(/v1/models/([^/:]+)(?:/versions/([0-9]+))?(:predict)?)");
    std::smatch parts;
    if (!std::regex_match(request.path, parts, form))
        return answer(404, {{"error", "Malformed request"}});
    const auto model = models.find(parts[1]);
    if (model == models.end())
        return answer(404, {{"error", "Could not find any versions of model " + parts[1].str()}});
    if (request.method == "GET" && !parts[3].matched) return answer(200, status_of(model->second));
    if (request.method == "POST" && parts[3].matched) {
        ++metrics.predictions;
        return predict(request.body, model->second, parts[2]);
    }
    return answer(405, {{"error", "Unsupported method"}});
}

void serve(int port, const Models& models, Metrics& metrics) {
    tessera::HttpServer server(
        {.address = "0.0.0.0", .port = port},
        [&](tessera::HttpRequest& request) { return respond(request, models, metrics); });
    if (const auto bound = server.listen(); !bound) fail(bound.error().text);
    std::printf("Exporting HTTP/REST API at:0.0.0.0:%d\n", port);
    server.serve({});
}

void run(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    // PID 1 of a container has no default actions.
    std::signal(SIGTERM, [](int) { std::_Exit(0); });
    std::signal(SIGINT, [](int) { std::_Exit(0); });
    const Options options = parse(argc, argv);
    const std::vector<ModelConfig> configs = models_of(options);
    if (options.fraction) take_memory(*options.fraction);
    Models models;
    for (const ModelConfig& config : configs)
        models.emplace(config.name, model_server::load_when_there(config));
    Metrics metrics{.path = metrics_path(options.monitoring_config_file)};
    std::optional<model_server::GrpcApi> grpc;
    if (options.port != 0) grpc.emplace(options.port, models, metrics.predictions);
    serve(options.rest_port, models, metrics);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        run(argc, argv);
    } catch (const std::exception& error) {
        fail(error.what());
    }
}
