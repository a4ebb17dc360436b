import { closeSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { syncFolderSync } from '@nodekeep/plugin-sdk/durable-files'
import { packHeader, packName, sectionHead } from './pack-format.ts'

/** The place of the bytes of a block. */
export interface BlockPlace {
  readonly pack: number
  readonly position: number
  readonly length: number
}

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
  /** The numbers of packs increase for ever: a reader of an old index must not find other bytes. */
  #newest: number

  /** @param connection the index, with the lengths of all packs */
  constructor(connection: DatabaseSync, folder: string, packBytes: number) {
    this.#folder = folder
    this.#packBytes = packBytes
    const last = connection.prepare('SELECT number, length FROM pack ORDER BY number DESC LIMIT 1').get()
    this.#newest = Number(last?.number ?? 0)
    if (last !== undefined && Number(last.length) < packBytes) this.#reopen(this.#newest, Number(last.length))
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
    try {
      writeAll(pack.descriptor, head, start)
      writeAll(pack.descriptor, bytes, start + head.length)
    } catch (error) {
      ftruncateSync(pack.descriptor, start)
      throw error
    }
    pack.length = start + head.length + bytes.length
    return { pack: pack.number, position: start + head.length, length: bytes.length }
  }

  /**
   * Makes sure that all that was appended is on the disk. A full pack ends.
   *
   * @returns the pack and its length; null if nothing was appended to any
   */
  sync(): { readonly number: number; readonly length: number } | null {
    const pack = this.#pack
    if (pack === null) return null
    fsyncSync(pack.descriptor)
    if (pack.length >= this.#packBytes) this.close()
    return { number: pack.number, length: pack.length }
  }

  close(): void {
    if (this.#pack !== null) closeSync(this.#pack.descriptor)
    this.#pack = null
  }

  #begin(): OpenPack {
    const number = this.#newest + 1
    const descriptor = openSync(join(this.#folder, packName(number)), 'w', 0o600)
    this.#pack = { number, descriptor, length: packHeader.length }
    this.#newest = number
    writeAll(descriptor, packHeader, 0)
    syncFolderSync(this.#folder)
    return this.#pack
  }

  /** What is behind the recorded length was not committed. */
  #reopen(number: number, length: number): void {
    const descriptor = openSync(join(this.#folder, packName(number)), 'r+')
    ftruncateSync(descriptor, length)
    this.#pack = { number, descriptor, length }
  }
}

/** A write may take a part only, such as on a disk that has become full; the next one then tells why. */
function writeAll(descriptor: number, bytes: Uint8Array, position: number): void {
  for (let written = 0; written < bytes.length; )
    written += writeSync(descriptor, bytes, written, bytes.length - written, position + written)
}
