const mask = (1n << 64n) - 1n

/** Bytes that one block of Keccak-256 takes in. */
const rate = 136

const rotate = (lane: bigint, by: bigint): bigint => ((lane << by) | (lane >> (64n - by))) & mask

/**
 * Keccak-256 as Ethereum has it, of at most 135 bytes: one block, which is all that an address needs.
 *
 * After "The Keccak reference" (version 3.0), sections 1.2 and 2.
 */
export function keccak256OfBlock(message: Uint8Array): Uint8Array {
  if (message.length >= rate) throw new RangeError(`At most ${rate - 1} bytes fit into one block.`)
  const block = new Uint8Array(200)
  block.set(message)
  block[message.length] = 0x01
  block[rate - 1] = (block[rate - 1] ?? 0) | 0x80
  const view = new DataView(block.buffer)
  let lanes = Array.from({ length: 25 }, (_, index) => view.getBigUint64(index * 8, true))
  for (const constant of roundConstants()) lanes = round(lanes, constant)
  for (const [index, lane] of lanes.entries()) view.setBigUint64(index * 8, lane, true)
  return block.slice(0, 32)
}

/** One round of the permutation; the lane of column x and row y has the index x + 5y. */
function round(lanes: readonly bigint[], constant: bigint): bigint[] {
  const at = (from: readonly bigint[], x: number, y: number) => from[(x % 5) + 5 * (y % 5)] ?? 0n
  const columns = [0, 1, 2, 3, 4]
  const parity = columns.map((x) => columns.reduce((sum, y) => sum ^ at(lanes, x, y), 0n))
  const theta = lanes.map((lane, index) => {
    const x = index % 5
    return lane ^ (parity[(x + 4) % 5] ?? 0n) ^ rotate(parity[(x + 1) % 5] ?? 0n, 1n)
  })

  const moved = [...theta]
  let [x, y] = [1, 0]
  for (let step = 0; step < 24; step += 1) {
    const lane = rotate(at(theta, x, y), BigInt(((step + 1) * (step + 2)) / 2) % 64n)
    ;[x, y] = [y, (2 * x + 3 * y) % 5]
    moved[x + 5 * y] = lane
  }

  return moved.map((lane, index) => {
    const [column, row] = [index % 5, Math.floor(index / 5)]
    const mixed = lane ^ (~at(moved, column + 1, row) & mask & at(moved, column + 2, row))
    return index === 0 ? mixed ^ constant : mixed
  })
}

/** The constants of the 24 rounds, from the shift register that the reference defines them by. */
function* roundConstants(): Iterable<bigint> {
  let register = 1
  for (let index = 0; index < 24; index += 1) {
    let constant = 0n
    for (let bit = 0; bit < 7; bit += 1) {
      if (register & 1) constant |= 1n << BigInt(2 ** bit - 1)
      register <<= 1
      if (register & 0x100) register ^= 0x171
    }
    yield constant
  }
}
