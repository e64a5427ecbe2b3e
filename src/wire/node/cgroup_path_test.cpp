#include "wire/node/cgroup_path.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Goal: the folder of a container's cgroup is found in both forms that runtimes write.
TEST(CgroupPath, NamesTheFolder) {
    struct Case {
        const char* path;
        const char* folder;  // empty: refused
    };
    for (const Case& c : {
             Case{"/kubepods/besteffort/pod1/c0ffee", "kubepods/besteffort/pod1/c0ffee"},
             {"kubepods/pod1/c0ffee/", "kubepods/pod1/c0ffee"},
             {"//kubepods//c0ffee", "kubepods/c0ffee"},
             {"kubepods-burstable-pod1_2.slice:cri-containerd:c0ffee",
              "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/"
              "cri-containerd-c0ffee.scope"},
             {"kubepods-pod1.slice:crio:c0ffee",
              "kubepods.slice/kubepods-pod1.slice/crio-c0ffee.scope"},
             {"machine.slice::c0ffee", "machine.slice/-c0ffee.scope"},
             {"machine.slice:x:inner.slice", "machine.slice/inner.slice"},
             {":docker:c0ffee", "system.slice/docker-c0ffee.scope"},
             {"-.slice:docker:c0ffee", "docker-c0ffee.scope"},
             {"", ""},
             {"/", ""},
             {"/kubepods/../c0ffee", ""},
             {"./c0ffee", ""},
             {"slice:c0ffee", ""},
             {"kubepods:cri:c0ffee", ""},
             {"a--b.slice:cri:c0ffee", ""},
             {"-a.slice:cri:c0ffee", ""},
             {"a-.slice:cri:c0ffee", ""},
             {".slice:cri:c0ffee", ""},
             {"a.slice:cri:", ""},
             {"a.slice:cri:x/y", ""},
             {"a/b.slice:cri:x", ""},
             {"a.slice:..:x", ""},
             {"a.slice:cri:x:y", ""},
         }) {
        const auto folder = cgroup_folder_of(c.path);
        EXPECT_EQ(folder.has_value(), *c.folder != '\0') << c.path;
        EXPECT_EQ(folder.value_or(""), c.folder) << c.path;
    }
    const auto refused = cgroup_folder_of("a\nb:c");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::invalid_argument);
    EXPECT_FALSE(cgroup_folder_of(std::string(5000, 'a')));
}

}  // namespace
}  // namespace tessera
