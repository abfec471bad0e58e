//! The quantity: a number, how it is written, and perhaps the very text it came from.

use alloc::sync::Arc;
use core::cmp::Ordering;
use core::fmt;
use core::ops::{Add, AddAssign, Neg, Sub, SubAssign};

use crate::decimal::Decimal;
use crate::number::{Number, Sign};

/// An amount of a resource.
///
/// Comparison is by exact value: `1Gi`, `1024Mi` and `1073741824` are equal. Display gives the remembered text, if
/// there is one (`001Gi` stays `001Gi`), else the canonical text; a result of arithmetic remembers none.
///
/// Sums keep the format of the left operand unless that is zero:
///
/// ```
/// use k8s_quantity::Quantity;
///
/// let mut total: Quantity = "1Gi".parse()?;
/// total += &"512Mi".parse()?;
/// assert_eq!(total.to_string(), "1536Mi");
/// assert_eq!(total, "1.5Gi".parse()?);
/// # Ok::<(), k8s_quantity::ParseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Quantity {
    pub(crate) amount: Number,
    pub(crate) format: Format,
    /// What Display gives back verbatim. Shared, so that a clone of the small form allocates nothing.
    pub(crate) text: Option<Arc<str>>,
}

/// How a quantity is written; no part of its value. Displays as Kubernetes names it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Format {
    /// That of JSON's `null`: a zero of no format. Written as [`Format::DecimalExponent`].
    #[default]
    Unspecified,
    /// `12e6`.
    DecimalExponent,
    /// `12Mi`.
    BinarySi,
    /// `12M`.
    DecimalSi,
}

impl Quantity {
    /// `value` whole units.
    #[must_use]
    pub const fn from_units(value: i64, format: Format) -> Self {
        Self { amount: Number::Small { value, scale: 0 }, format, text: None }
    }

    /// `value` thousandths, for CPUs. Such a quantity has no [`as_int64`](Quantity::as_int64), even if it is whole.
    #[must_use]
    pub const fn from_milli(value: i64, format: Format) -> Self {
        Self { amount: Number::Small { value, scale: -3 }, format, text: None }
    }

    /// How it is written.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format
    }

    /// On which side of zero it is.
    #[must_use]
    pub fn sign(&self) -> Sign {
        self.amount.sign()
    }

    /// Whether it is zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.sign() == Sign::Zero
    }

    /// The integer, for small inner forms without a negative power of ten: `1Gi`, `2k`, `1536Mi`. `None` for all
    /// others even if they are whole (`1000m`, `1.0`, `1.5Gi`, `1Pi`), and beyond 64 bits. This is how Kubernetes
    /// reads amounts of memory and huge pages.
    #[must_use]
    pub fn as_int64(&self) -> Option<i64> {
        self.amount.as_int64()
    }

    /// Whether it has the big inner form: read from a text like `1.5Gi` or `1Pi`, or from one of many digits, or
    /// the result of arithmetic with one that has it.
    #[must_use]
    pub const fn is_big(&self) -> bool {
        matches!(self.amount, Number::Big(_))
    }

    /// The same in the big inner form, which it takes on in Kubernetes where it is compared with a big one.
    #[must_use]
    pub fn into_big(self) -> Self {
        Self { amount: Number::Big(self.amount.to_decimal()), ..self }
    }

    /// Whole units, rounded away from zero: 1 for `100m`. As in Kubernetes, values past 64 bits give 0 or wrap
    /// around (`1e19` gives 0), and negative ones of the big form can be wrong (`-0.5n` gives 1); for the exact
    /// figure see [`Quantity::ceil_units`].
    #[must_use]
    pub fn value(&self) -> i64 {
        self.amount.scaled_int64(0)
    }

    /// Thousandths, rounded and overflowing as [`Quantity::value`] does: 500 for `0.5`, 1 for `1u`.
    #[must_use]
    pub fn milli_value(&self) -> i64 {
        self.amount.scaled_int64(-3)
    }

    /// The smallest integer that is not below the value; `None` beyond 128 bits. Exact whatever the form.
    #[must_use]
    pub fn ceil_units(&self) -> Option<i128> {
        i128::try_from(self.amount.to_decimal().ceil()).ok()
    }

    /// Billionths, of which a quantity that was read has a whole number: 100,000,000 for `100m`. `None` beyond 128 bits, or
    /// for a finer fraction, which only arithmetic gives.
    #[must_use]
    pub fn nano_units(&self) -> Option<i128> {
        if let Number::Small { value, scale } = self.amount {
            let power = u32::try_from(scale.checked_add(9)?).ok();
            return power.and_then(|power| i128::from(value).checked_mul(10_i128.checked_pow(power)?));
        }
        let decimal = self.amount.to_decimal();
        i128::try_from(Decimal { places: decimal.places.checked_sub(9)?, ..decimal }.whole()?).ok()
    }

    /// Rounded away from zero to whole thousandths, as a pod's requests are when it is stored: `1u` gives `1m`.
    #[must_use]
    pub fn round_up_to_milli(self) -> Self {
        let keeps_text = matches!(self.amount, Number::Small { scale, .. } if scale >= -3);
        let text = self.text.filter(|_| keeps_text);
        Self { amount: self.amount.rounded_up(-3), format: self.format, text }
    }

    /// The same quantity without a remembered text.
    /// Whether the other is the same text too: `1Gi` is not `1024Mi`.
    #[must_use]
    pub fn is_written_as(&self, other: &Self) -> bool {
        (self.format, &self.text) == (other.format, &other.text) && self.amount.has_form_of(&other.amount)
    }

    fn with_amount(&self, amount: Number) -> Self {
        Self { amount, format: self.format, text: None }
    }
}

/// JSON's `null`: zero, without a format.
impl Default for Quantity {
    fn default() -> Self {
        Self { amount: Number::ZERO, format: Format::Unspecified, text: None }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.amount.cmp_value(&other.amount)
    }
}

impl Add for &Quantity {
    type Output = Quantity;

    fn add(self, other: &Quantity) -> Quantity {
        let format = if self.is_zero() { other.format } else { self.format };
        Quantity { amount: self.amount.plus(&other.amount), format, text: None }
    }
}

impl Sub for &Quantity {
    type Output = Quantity;

    fn sub(self, other: &Quantity) -> Quantity {
        self + &-other
    }
}

impl Neg for &Quantity {
    type Output = Quantity;

    fn neg(self) -> Quantity {
        self.with_amount(self.amount.negated())
    }
}

impl Add for Quantity {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        &self + &other
    }
}

impl Sub for Quantity {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        &self - &other
    }
}

impl Neg for Quantity {
    type Output = Self;

    fn neg(self) -> Self {
        -&self
    }
}

impl AddAssign<&Quantity> for Quantity {
    fn add_assign(&mut self, other: &Quantity) {
        *self = &*self + other;
    }
}

impl AddAssign for Quantity {
    fn add_assign(&mut self, other: Self) {
        *self += &other;
    }
}

impl SubAssign<&Quantity> for Quantity {
    fn sub_assign(&mut self, other: &Quantity) {
        *self = &*self - other;
    }
}

impl SubAssign for Quantity {
    fn sub_assign(&mut self, other: Self) {
        *self -= &other;
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unspecified => "",
            Self::DecimalExponent => "DecimalExponent",
            Self::BinarySi => "BinarySI",
            Self::DecimalSi => "DecimalSI",
        })
    }
}
