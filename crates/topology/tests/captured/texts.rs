//! The texts, each with its name.

macro_rules! texts {
    ($($constant:ident = $file:literal;)*) => {
        $(pub(crate) const $constant: &str = include_str!(concat!("texts/", $file));)*
    };
}

texts!(
    AMD_TOPOLOGY = "amd-smi-topology.2xrdna-pcie-p2p-disabled.txt";
    MX_LIST = "mx-smi-L.line-format.txt";
    MX_TWO_GROUPS = "mx-smi-topo-m.c500x8-node.txt";
    MX_ONE_GROUP = "mx-smi-topo-m.mxc500x4.txt";
    MX_WITH_CARDS = "mx-smi-topo-n.c500x8-nic6.txt";
    NODES_A = "numactl-H.a.txt";
    NODES_B = "numactl-H.b.txt";
    NODES_C = "numactl-H.c.txt";
    LIST_MIG = "nvidia-smi-L.mig.txt";
    LIST_VGPU = "nvidia-smi-L.vgpu-mig.constructed.txt";
    TOPO_PHB = "nvidia-smi-topo-m.2gpu-phb.txt";
    TOPO_L40 = "nvidia-smi-topo-m.l40x4-2nic.txt";
    TOPO_NVLINK = "nvidia-smi-topo-m.nv18-partial.txt";
    P2P_STATUS = "nvidia-smi-topo-p2p-rw.2gpu.txt";
    ROCM_TOPO = "rocm-smi-showtopo.pcie4.txt";
);
