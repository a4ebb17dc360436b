import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, rmSync, writevSync } from 'node:fs'
import { join } from 'node:path'
import { syncFolderSync } from '@nodekeep/plugin-sdk/durable-files'
import type { BlockIndex, BlockPlace } from './block-index.ts'
import { packHeader, packName, sectionHead } from './pack-format.ts'

interface OpenPack {
  readonly number: number
  readonly descriptor: number
  length: number
}

/** Appends sections to the newest pack. Only the writer thread uses it. */
export class PackWriter {
  readonly #folder: string
  readonly #packBytes: number
  #pack: OpenPack | null = null
  #isSynced = true
  /** The numbers of packs increase for ever: a reader of an old index must not find other bytes. */
  #newest: number

  constructor(blocks: BlockIndex, folder: string, packBytes: number) {
    this.#folder = folder
    this.#packBytes = packBytes
    const packs = blocks.packs()
    this.#newest = Math.max(0, ...packs.map(({ number }) => number))
    const last = packs.find(({ number }) => number === this.#newest)
    if (last !== undefined && last.length < packBytes) this.#reopen(last.number, last.length)
  }

  /** The number of the pack that gets the next block; null if a new one gets it. */
  get current(): number | null {
    return this.#pack?.number ?? null
  }

  /**
   * Appends a block. It is on the disk for sure after the next {@link sync}.
   *
   * @throws the error of the disk; nothing of the block stays then
   */
  append(cid: Uint8Array, bytes: Uint8Array): BlockPlace {
    const pack = this.#pack ?? this.#begin()
    const head = sectionHead(cid, bytes.length)
    const start = pack.length
    this.#isSynced = false
    try {
      writeAll(pack.descriptor, [head, bytes], start)
    } catch (error) {
      // If this fails too, the next section overwrites the bytes, or the next start cuts them.
      try {
        ftruncateSync(pack.descriptor, start)
      } catch {}
      throw error
    }
    pack.length = start + head.length + bytes.length
    return { pack: pack.number, position: start + head.length, length: bytes.length }
  }

  /**
   * Makes sure that all that was appended is on the disk. A full pack ends.
   *
   * @returns the pack and its length; null if nothing was appended
   * @throws the error of the disk. What was appended may be lost then, and a second sync would not tell it
   */
  sync(): { readonly number: number; readonly length: number } | null {
    const pack = this.#pack
    if (pack === null || this.#isSynced) return null
    fsyncSync(pack.descriptor)
    this.#isSynced = true
    if (pack.length >= this.#packBytes) this.end()
    return { number: pack.number, length: pack.length }
  }

  /** Lets the next block begin a new pack. Everything must be synced. */
  end(): void {
    if (this.#pack !== null) closeSync(this.#pack.descriptor)
    this.#pack = null
  }

  #begin(): OpenPack {
    const number = this.#newest + 1
    const file = join(this.#folder, packName(number))
    const descriptor = openSync(file, 'wx', 0o600)
    try {
      writeAll(descriptor, [packHeader], 0)
      syncFolderSync(this.#folder)
    } catch (error) {
      closeSync(descriptor)
      rmSync(file, { force: true })
      throw error
    }
    this.#newest = number
    this.#pack = { number, descriptor, length: packHeader.length }
    return this.#pack
  }

  /** A pack that has lost bytes gets no more. */
  #reopen(number: number, length: number): void {
    let descriptor: number
    try {
      descriptor = openSync(join(this.#folder, packName(number)), 'r+')
    } catch {
      return
    }
    if (fstatSync(descriptor).size < length) closeSync(descriptor)
    else this.#pack = { number, descriptor, length }
  }
}

/** A write may take a part only, such as on a disk that has become full; the next one then tells why. */
function writeAll(descriptor: number, pieces: readonly Uint8Array[], position: number): void {
  let at = position
  let left = pieces
  while (left.length > 0) {
    let written = writevSync(descriptor, left, at)
    at += written
    while (left[0] !== undefined && written >= left[0].length) {
      written -= left[0].length
      left = left.slice(1)
    }
    if (left[0] !== undefined && written > 0) left = [left[0].subarray(written), ...left.slice(1)]
  }
}
