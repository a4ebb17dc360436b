/** Boxes of HEIF: ISO/IEC 14496-12, "Item location box" and "Item information box", and ISO/IEC 23008-12, "Exif metadata". */

interface Box {
  readonly type: string
  readonly body: Buffer
}

/** Where an item lies. */
interface ItemLocation {
  readonly isInMeta: boolean
  readonly offset: number
  readonly length: number
}

/** Most bytes of Exif data that are taken. JPEG has at most 64 KiB. */
const mostBytes = 256 * 1024
/** Bytes of the version and flags with which most boxes here begin. */
const versionBytes = 4

/**
 * Finds the Exif data of a HEIF file, from the TIFF header on. The decoder has no interface for them.
 *
 * @returns null if there are none, or if the file is damaged
 */
export function exifOf(file: Uint8Array): Uint8Array | null {
  try {
    return findExif(Buffer.from(file.buffer, file.byteOffset, file.byteLength))
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

function findExif(file: Buffer): Uint8Array | null {
  const meta = bodyOf(file, 'meta')?.subarray(versionBytes)
  if (meta === undefined) return null
  const id = exifId(bodyOf(meta, 'iinf'))
  const location = id === null ? null : locationOf(bodyOf(meta, 'iloc'), id)
  if (location === null) return null
  const holder = location.isInMeta ? bodyOf(meta, 'idat') : file
  const item = holder?.subarray(location.offset, location.offset + Math.min(location.length, mostBytes))
  if (item === undefined) return null
  // The item begins with the number of bytes between this number and the TIFF header.
  const exif = item.subarray(4 + item.readUInt32BE(0))
  return exif.length > 8 ? exif : null
}

/** Yields the boxes of a file or of a box. */
function* boxesOf(bytes: Buffer): Generator<Box> {
  for (let at = 0; at + 8 <= bytes.length; ) {
    const short = bytes.readUInt32BE(at)
    const headBytes = short === 1 ? 16 : 8
    const long = short === 1 ? Number(bytes.readBigUInt64BE(at + 8)) : short
    const size = short === 0 ? bytes.length - at : long
    if (size < headBytes) throw new RangeError('A box is shorter than its head.')
    yield { type: bytes.toString('latin1', at + 4, at + 8), body: bytes.subarray(at + headBytes, at + size) }
    at += size
  }
}

function bodyOf(bytes: Buffer, type: string): Buffer | undefined {
  for (const box of boxesOf(bytes)) if (box.type === type) return box.body
  return undefined
}

/** The number of the item that has Exif data. */
function exifId(iinf: Buffer | undefined): number | null {
  if (iinf === undefined) return null
  const countBytes = iinf.readUInt8(0) === 0 ? 2 : 4
  for (const { type, body } of boxesOf(iinf.subarray(versionBytes + countBytes))) {
    if (type !== 'infe') continue
    const version = body.readUInt8(0)
    // Earlier versions have no types. After the number, there are two bytes of protection.
    if (version < 2) continue
    const idBytes = version === 2 ? 2 : 4
    const typeAt = versionBytes + idBytes + 2
    if (body.toString('latin1', typeAt, typeAt + 4) === 'Exif') return body.readUIntBE(versionBytes, idBytes)
  }
  return null
}

function locationOf(iloc: Buffer | undefined, wanted: number): ItemLocation | null {
  if (iloc === undefined) return null
  const version = iloc.readUInt8(0)
  const sizes = iloc.readUInt16BE(versionBytes)
  const [offsetBytes, lengthBytes, baseBytes] = [sizes >> 12, (sizes >> 8) & 15, (sizes >> 4) & 15]
  const indexBytes = version === 0 ? 0 : sizes & 15
  const idBytes = version < 2 ? 2 : 4
  let at = versionBytes + 2
  const take = (bytes: number): number => {
    at += bytes
    if (bytes === 8) return Number(iloc.readBigUInt64BE(at - bytes))
    return bytes === 0 ? 0 : iloc.readUIntBE(at - bytes, bytes)
  }
  for (let left = take(idBytes); left > 0; left -= 1) {
    const id = take(idBytes)
    const method = version === 0 ? 0 : take(2) & 15
    take(2)
    const base = take(baseBytes)
    const extents = take(2)
    if (id === wanted) {
      // Exif data are in one piece.
      take(indexBytes)
      const offset = base + take(offsetBytes)
      return extents === 1 && method < 2
        ? { isInMeta: method === 1, offset, length: take(lengthBytes) }
        : null
    }
    at += extents * (indexBytes + offsetBytes + lengthBytes)
  }
  return null
}
