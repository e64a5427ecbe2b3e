// `tessera mps verify`: what a container gets of its GPU by NVIDIA MPS, beside what it was granted.
#pragma once

#include <string>
#include <vector>

#include "domain/mps/mps_report.hpp"
#include "domain/mps/mps_verdict.hpp"

namespace tessera {

// A container that started with MPS, as the agent of its node reports it.
struct MpsContainer {
    NodeName node;
    MpsGrant grant;
    int multiprocessors = 0;  // of its GPU; 0: not known
};

// A pod as the API server shows it.
struct RunningPod {
    PodName name;
    PodUid uid;
    std::vector<std::string> containers;  // those that run now
};

// The container of the pod, by the agent of its node; an empty name: its only one. Errors:
// not_found with what to do, invalid_argument if there are several, unsupported if it has no probe.
Result<MpsContainer> find_mps_container(const MpsReport& node, const RunningPod& pod,
                                        const std::string& container);

// One step of a capacity test.
struct MpsSweepStep {
    Percent threads;
    MpsProbe probe;
};

std::string mps_verify_table(const MpsContainer& of, const std::vector<MpsFinding>& findings);
// {"pod":"NAMESPACE/NAME","container":…,"node":…,"gpu":…,"ok":true,"checks":[{"check":…,
//  "granted":…,"found":…,"ok":true}]}
std::string mps_verify_json(const MpsContainer& of, const std::vector<MpsFinding>& findings);
// A line for each step, with a bar for its throughput.
std::string mps_sweep_table(const std::vector<MpsSweepStep>& steps);
// {"pod":…,"container":…,"node":…,"gpu":…,"steps":[{"threadsPercent":10,"multiprocessors":12,
//  "blocksPerSecond":12000}]}
std::string mps_sweep_json(const MpsContainer& of, const std::vector<MpsSweepStep>& steps);

}  // namespace tessera
