/** A repeatable source of random values. */
export interface Random {
  /** At least 0 and less than 1. */
  float(): number
  /** A whole number from `min` to `max`, both included. */
  integer(min: number, max: number): number
  /** True with the given probability. */
  chance(probability: number): boolean
  pick<T>(values: readonly [T, ...T[]]): T
  bytes(length: number): Buffer
}

/** Returns the generator of a seed (SplitMix32). Adjacent seeds give unrelated values. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = state
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return (mixed ^ (mixed >>> 15)) >>> 0
  }
  const float = () => next() / 2 ** 32
  const integer = (min: number, max: number) => min + Math.floor(float() * (max - min + 1))
  return {
    float,
    integer,
    chance: (probability) => float() < probability,
    pick: <T>(values: readonly [T, ...T[]]) => values[integer(0, values.length - 1)] as T,
    bytes: (length) => Buffer.from(Array.from({ length }, () => next() & 0xff)),
  }
}
