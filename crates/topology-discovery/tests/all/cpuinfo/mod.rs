//! `/proc/cpuinfo` as kernels of several architectures print it, of one processor or two.

/// Architecture and text.
pub(crate) const SAMPLES: [(&str, &str); 7] = [
    ("x86", X86),
    ("arm64", ARM64),
    ("riscv", RISCV),
    ("riscv, old kernel", RISCV_OLD),
    ("ppc64le", PPC64LE),
    ("s390x", S390X),
    ("mips64", MIPS64),
];

const X86: &str = "processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 85
model name\t: Intel(R) Xeon(R) Gold 6142 CPU @ 2.60GHz
stepping\t: 4
microcode\t: 0x2006b06
cpu MHz\t\t: 2600.000
cache size\t: 22528 KB
physical id\t: 0
siblings\t: 4
core id\t\t: 0
cpu cores\t: 2
apicid\t\t: 0
initial apicid\t: 0
fpu\t\t: yes
flags\t\t: fpu vme de pse tsc msr pae mce cx8
bogomips\t: 5200.00
clflush size\t: 64
address sizes\t: 46 bits physical, 48 bits virtual
power management:

processor\t: 1
vendor_id\t: GenuineIntel
cpu MHz\t\t: 1000.123
physical id\t: 1
core id\t\t: 3

";

const ARM64: &str = "processor\t: 0
BogoMIPS\t: 50.00
Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x3
CPU part\t: 0xd0c
CPU revision\t: 1

";

const RISCV: &str = "processor\t: 0
hart\t\t: 2
isa\t\t: rv64imafdc_zicntr_zicsr_zifencei_zihpm
mmu\t\t: sv39
uarch\t\t: sifive,u74-mc
mvendorid\t: 0x489
marchid\t\t: 0x8000000000000007
mimpid\t\t: 0x4210427
hart isa\t: rv64imafdc_zicntr_zicsr_zifencei_zihpm

";

const RISCV_OLD: &str = "processor\t: 0
hart\t\t: 1
isa\t\t: rv64imafdc
mmu\t\t: sv39
uarch\t\t: sifive,u54-mc

";

const PPC64LE: &str = "processor\t: 0
cpu\t\t: POWER9, altivec supported
clock\t\t: 2166.000000MHz
revision\t: 2.2 (pvr 004e 1202)

processor\t: 1
cpu\t\t: POWER9, altivec supported
clock\t\t: 3783.000000MHz
revision\t: 2.2 (pvr 004e 1202)

timebase\t: 512000000
platform\t: PowerNV
model\t\t: 8335-GTW
machine\t\t: PowerNV 8335-GTW
firmware\t: OPAL
MMU\t\t: Radix
";

const S390X: &str = "vendor_id       : IBM/S390
# processors    : 2
bogomips per cpu: 3033.00
max thread id   : 0
features\t: esan3 zarch stfle msa ldisp eimm dfp edat etf3eh highgprs te vx sie
facilities      : 0 1 2 3 4 6 7 8 9
cache0          : level=1 type=Data scope=Private size=128K line_size=256 associativity=8
processor 0: version = 00,  identification = 2BA318,  machine = 2964
processor 1: version = 00,  identification = 2BA318,  machine = 2964

cpu number      : 0
physical id     : 2
core id         : 0
book id         : 1
drawer id       : 0
dedicated       : 0
address         : 0
cpu MHz dynamic : 5000
cpu MHz static  : 5000

cpu number      : 1
physical id     : 3
core id         : 1
book id         : 0
drawer id       : 0

";

const MIPS64: &str = "system type\t\t: loongson3
machine\t\t\t: loongson,LEMOTE-LS3A3000
processor\t\t: 0
cpu model\t\t: ICT Loongson-3 V0.9  FPU V0.1
BogoMIPS\t\t: 2896.07
wait instruction\t: no
VCED exceptions\t\t: not available

";
