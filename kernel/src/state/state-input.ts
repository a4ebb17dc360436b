/** The longest key of a plugin's state, in UTF-16 units. Other databases that keyv knows limit the column too. */
export const maxKeyLength = 1024

/**
 * @throws TypeError for what is no key: not a string, empty, or with half of a surrogate pair, which UTF-8 cannot hold
 * @throws RangeError for a key that is too long
 */
export function checkKey(key: unknown): asserts key is string {
  if (typeof key !== 'string') throw new TypeError(`A state key is a string, not ${typeof key}.`)
  if (key === '') throw new TypeError('A state key has at least one character.')
  if (!key.isWellFormed()) throw new TypeError('A state key must be well-formed Unicode.')
  if (key.length > maxKeyLength) {
    throw new RangeError(
      `A state key has at most ${maxKeyLength} characters; this one has ${key.length}. Store a hash of it instead.`,
    )
  }
}

/** @throws TypeError for what JSON cannot hold. Within a value, JSON leaves `undefined` out. */
export function checkValue(value: unknown): void {
  if (value === undefined || typeof value === 'function' || typeof value === 'symbol') {
    throw new TypeError(
      `A state value is what JSON can hold, not ${typeof value}. Use delete() to remove a value.`,
    )
  }
}

/** @throws RangeError for a time that is not a positive number of milliseconds, or ends beyond all dates */
export function checkTtl(ttlMs: unknown): void {
  if (ttlMs === undefined) return
  if (typeof ttlMs !== 'number' || !(ttlMs > 0) || !Number.isSafeInteger(Math.ceil(Date.now() + ttlMs))) {
    throw new RangeError(`The time to live is a positive number of milliseconds, not ${String(ttlMs)}.`)
  }
}
