import { type TInteger, type TNumberOptions, type TString, type TStringOptions, Type } from 'typebox'

export { type Static, Type } from 'typebox'

/** The JSON Schema keyword that marks a value as secret. */
export const secretKeyword = 'x-nodekeep-secret'

/**
 * A secret configuration value: it is printed as `[secret]` and removed from every log line.
 *
 * In a configuration file, write it as `"${NAME}"`, which takes the value from the environment.
 */
export function Secret(options: TStringOptions = {}): TString {
  return Type.String({ ...options, writeOnly: true, [secretKeyword]: true })
}

/** The JSON Schema keyword that marks a number of bytes. */
export const byteSizeKeyword = 'x-nodekeep-bytes'

/**
 * A number of bytes in the configuration. People may also write a text with a unit, such as `"8GB"` (10⁹ bytes each) or `"512MiB"`
 * (2²⁰ bytes each). The plugin gets the number.
 */
export function ByteSize(options: TNumberOptions = {}): TInteger {
  return Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, ...options, [byteSizeKeyword]: true })
}

/** The keyword of a text that is a path. */
export const filePathKeyword = 'x-nodekeep-path'

/**
 * The path of a file or a folder in the configuration. A relative one starts at the folder of the file that names it, elsewhere at the
 * working directory. The plugin gets the absolute path.
 */
export function FilePath(options: TStringOptions = {}): TString {
  return Type.String({ minLength: 1, ...options, [filePathKeyword]: true })
}

/** The keyword of a text that code checks, beside JSON Schema. Its value is the function of {@link Checked}. */
export const checkKeyword = 'x-nodekeep-check'

/**
 * A text with a rule that JSON Schema cannot express, such as a checksum. The rule holds wherever the schema does: for `config check`
 * as for a start, and for requests.
 *
 * @param problemOf returns `null` for a good text. For others it returns the rest of a sentence whose subject is the key, with a
 * full stop: what is wrong, then what to do. It should not show the text, which may be secret.
 *
 * @example
 * const zone = Checked((text) => (knownZones.has(text) ? null : 'is no time zone. Write one such as "Europe/Berlin".'))
 */
export function Checked(problemOf: (text: string) => string | null, options: TStringOptions = {}): TString {
  return Type.String({ ...options, [checkKeyword]: problemOf })
}
