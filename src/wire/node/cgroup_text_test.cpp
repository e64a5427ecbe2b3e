#include "wire/node/cgroup_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

constexpr const char* kUid = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9";

// Goal: the pod of a process is found in every form of cgroup name; other processes have none.
TEST(CgroupText, FindsThePod) {
    struct Case {
        const char* text;
        bool is_found;
    };
    for (const Case& c :
         {Case{"0::/kubepods/besteffort/pod0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9/c0ffee\n", true},
          {"0::/kubepods.slice/kubepods-burstable.slice/"
           "kubepods-burstable-pod0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9.slice/"
           "cri-containerd-c0ffee.scope\n",
           true},
          {"0::/../../pod0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9/c0ffee\n", true},
          // As a container with a cgroup namespace of its own sees the processes of other pods.
          {"0::/../../../kubepods-besteffort.slice/"
           "kubepods-besteffort-pod0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9.slice/"
           "cri-containerd-c0ffee.scope\n",
           true},
          {"12:pids:/x/pod0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9/c\n11:cpu:/\n", true},
          {"0::/podman/podlet/pod0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", true},
          {"0::/kubepods/besteffort/pod7d3f0a8e9b6c5d4e3f2a1b0c9d8e7f6a/c0ffee\n", false},
          {"0::/user.slice/tripod0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", false},
          {"0::/system.slice/containerd.service\n", false},
          {"0::/kubepods/pod0a1b2c3d-4e5f", false},
          {"pod", false},
          {"", false}}) {
        const auto pod = pod_of_cgroup(c.text);
        EXPECT_EQ(pod.has_value(), c.is_found) << c.text;
        EXPECT_EQ(pod.value_or(PodUid(kUid)).str(), kUid) << c.text;
    }
}

}  // namespace
}  // namespace tessera
