//! What boxes of each vendor have in common: names, drivers, and what only some of them have.

use boxfile::{Link, Port, Vendor};

use super::dice::Dice;

/// A vendor's kind of box.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) vendor: Vendor,
    /// The name of the backend that answers.
    pub(crate) backend: &'static str,
    pub(crate) driver: &'static str,
    pub(crate) driver_api: u32,
    pub(crate) name: &'static str,
    pub(crate) pci_id: &'static str,
    pub(crate) class: &'static str,
    /// How often the GPUs are split.
    pub(crate) mig: f64,
    /// How often the devices take kernels.
    pub(crate) kernels: f64,
    /// How often pairs have links of their own.
    pub(crate) fabric: f64,
    /// Whether each card has a switch of its own before the GPU.
    pub(crate) has_switch: bool,
}

/// Every vendor with soft boxes.
pub(crate) const SHAPES: [Shape; 3] = [
    Shape {
        vendor: Vendor::NVIDIA,
        backend: "cuda",
        driver: "570.133.07",
        driver_api: 12080,
        name: "NVIDIA Drawn",
        pci_id: "10de:26b5",
        class: "030200",
        mig: 0.2,
        kernels: 0.9,
        fabric: 0.15,
        has_switch: false,
    },
    Shape {
        vendor: Vendor::AMD,
        backend: "hip",
        driver: "7.0.0",
        driver_api: 70_000_000,
        name: "AMD Radeon Drawn",
        pci_id: "1002:7551",
        class: "030000",
        mig: 0.0,
        kernels: 0.9,
        fabric: 0.15,
        has_switch: true,
    },
    Shape {
        vendor: Vendor::METAX,
        backend: "maca",
        driver: "2.1.6",
        driver_api: 21_600,
        name: "MetaX Drawn",
        pci_id: "9999:4000",
        class: "120000",
        mig: 0.0,
        // There is no compiler for it.
        kernels: 0.0,
        fabric: 0.5,
        has_switch: false,
    },
];

/// Where a device hangs.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    pub(crate) address: String,
    pub(crate) parent: String,
    pub(crate) ports: Vec<Port>,
    /// What the device's own function shows.
    pub(crate) link: Option<Link>,
}

/// A card's internal link, whatever the slot has.
const INTERNAL: Link = Link {
    generation: 5,
    width: 16,
};

impl Shape {
    /// The shape of a box's vendor.
    pub(crate) fn of(vendor: Vendor) -> &'static Self {
        let mut shapes = SHAPES.iter();
        shapes.find(|shape| shape.vendor == vendor).unwrap()
    }

    /// Slot number `index`; a guest shows no links.
    pub(crate) fn slot(
        &self,
        dice: &mut Dice,
        index: usize,
        node: Option<u32>,
        guest: bool,
    ) -> Slot {
        let bus = 0x20 * (index + 1);
        if !self.has_switch {
            return Slot {
                address: format!("0000:{:02x}:00.0", bus + 1),
                parent: format!("pci0000:{bus:02x}"),
                ports: Vec::new(),
                link: (!guest).then_some(INTERNAL),
            };
        }
        let slot = Link {
            generation: u8::try_from(dice.whole(3, 5)).unwrap(),
            width: if dice.chance(0.5) { 8 } else { 16 },
        };
        let port = |address: &str, parent: &str, pci_id: &str, link| Port {
            address: address.to_owned(),
            parent: parent.to_owned(),
            pci_id: pci_id.to_owned(),
            node,
            link: Some(link),
            maximum: Some(INTERNAL),
            acs_redirect: None,
        };
        let [root, above, below, own] = [
            format!("0000:{bus:02x}:01.1"),
            format!("0000:{:02x}:00.0", bus + 1),
            format!("0000:{:02x}:00.0", bus + 2),
            format!("0000:{:02x}:00.0", bus + 3),
        ];
        Slot {
            ports: vec![
                port(&root, &format!("pci0000:{bus:02x}"), "1022:14db", slot),
                port(&above, &root, "1002:1478", slot),
                port(&below, &above, "1002:1479", INTERNAL),
            ],
            address: own,
            parent: below,
            link: Some(INTERNAL),
        }
    }
}
