//! Serde pieces for reading cards strictly: a field that is present has its type, and null is no type.
//!
//! Parts of a card that a verdict does not need are checked and dropped, not kept.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::time::Timestamp;

/// For `#[serde(default, deserialize_with = "present")]`: absent is `None`, null is an error.
pub(crate) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Time;
        impl Visitor<'_> for Time {
            type Value = Timestamp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an RFC 3339 time")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Timestamp, E> {
                Timestamp::parse(text).map(|(time, _)| time).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Time)
    }
}

/// A finite number that is not negative: minutes or seconds, as the field's name says.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Amount(pub(crate) f64);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        if value.is_finite() && value >= 0.0 {
            Ok(Self(value))
        } else {
            Err(D::Error::custom("a number of 0 or more was expected"))
        }
    }
}

/// The largest count: beyond it not every JSON reader can tell it from the next one (RFC 8259, section 6).
const COUNT_MAX: u64 = (1 << 53) - 1;

/// A whole number of 0 or more that can still be counted up.
pub(crate) fn counted<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let value = u64::deserialize(deserializer)?;
    if value < COUNT_MAX { Ok(value) } else { Err(D::Error::custom(format!("{value} is too large to be counted up"))) }
}

/// A string whose text is not kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Text;

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyText;
        impl Visitor<'_> for AnyText {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_str<E>(self, _: &str) -> Result<Text, E> {
                Ok(Text)
            }
        }
        deserializer.deserialize_str(AnyText)
    }
}

/// An array whose items all have the shape `T`; only their number is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ArrayOf<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ArrayOf<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Items<T> {
            type Value = ArrayOf<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                while items.next_element::<T>()?.is_some() {}
                Ok(ArrayOf(PhantomData))
            }
        }
        deserializer.deserialize_seq(Items(PhantomData))
    }
}

/// An object whose values all have the shape `T`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ObjectOf<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ObjectOf<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = ObjectOf<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
                while entries.next_entry::<Text, T>()?.is_some() {}
                Ok(ObjectOf(PhantomData))
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

/// What an entry of `artifacts` may be: a path (as the Python predecessor wrote it) or an object of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PathOrPaths;

impl<'de> Deserialize<'de> for PathOrPaths {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = PathOrPaths;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a path or an object of paths")
            }
            fn visit_str<E>(self, _: &str) -> Result<PathOrPaths, E> {
                Ok(PathOrPaths)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<PathOrPaths, A::Error> {
                while let Some(name) = entries.next_key::<Cow<'_, str>>()? {
                    // A number that keeps its digits comes as a map of this one name.
                    if name == "$serde_json::private::Number" {
                        return Err(A::Error::custom("a number where a path or an object of paths was expected"));
                    }
                    entries.next_value::<IgnoredAny>()?;
                }
                Ok(PathOrPaths)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// A value that is read later, if at all. As its own text: plain values would have lost which fields it has twice.
#[derive(Clone, Debug)]
pub(crate) struct Unread(Box<RawValue>);

impl Unread {
    pub(crate) fn text(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for Unread {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl<'de> Deserialize<'de> for Unread {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::deserialize(deserializer).map(Self)
    }
}

/// A struct written as an object: what serde derives would take an array of its fields too.
pub(crate) fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct OnlyObject<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for OnlyObject<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<T, A::Error> {
            T::deserialize(serde::de::value::MapAccessDeserializer::new(entries))
        }
    }
    deserializer.deserialize_map(OnlyObject(PhantomData))
}

/// For `#[serde(default, deserialize_with = "present_object")]`.
pub(crate) fn present_object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    object(deserializer).map(Some)
}

/// An object of the shape `T`, as an item of an array or object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Object<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        object::<D, T>(deserializer).map(|_| Self(PhantomData))
    }
}
