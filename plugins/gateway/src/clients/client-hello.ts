import type { HeadParser } from '@nodekeep/plugin-sdk/tunnel'

/** The first message of a client of TLS. */
export interface ClientHello {
  /** The name of the server (RFC 6066, section 3), in lower case; `null` without one. */
  readonly serverName: string | null
  /** The names of protocols (RFC 7301). */
  readonly protocols: readonly string[]
}

/** With keys of several kinds, a ClientHello has some 2 KB. OpenSSL takes no more than 16 KB either. */
export const maxClientHelloBytes = 16 * 1024 + 512

const handshakeRecord = 22
const clientHello = 1
const serverNameExtension = 0
const protocolsExtension = 16
const maxRecordBytes = 16 * 1024

/**
 * Parses the ClientHello (RFC 8446, section 4.1.2) at the beginning of a stream, in any number of records and pieces, and consumes
 * nothing: who ends TLS reads it again. The value is `null` if the first byte is not one of TLS.
 */
export const peekClientHello: HeadParser<ClientHello | null> = (bytes) => {
  if (bytes[0] !== handshakeRecord) return { value: null, length: 0 }
  const message = readMessage(bytes)
  return message === null ? null : { value: parseHello(new Reader(message)), length: 0 }
}

/**
 * Returns the first handshake message without its header, `null` if its end is missing. It runs for each piece that arrives, so it
 * copies each byte at most once: a client may send thousands of records of one byte.
 */
function readMessage(bytes: Buffer): Buffer | null {
  const message = Buffer.allocUnsafe(bytes.length)
  let got = 0
  for (let at = 0; at + 5 <= bytes.length; ) {
    const length = bytes.readUInt16BE(at + 3)
    if (bytes[at] !== handshakeRecord || bytes[at + 1] !== 3 || length === 0 || length > maxRecordBytes)
      throw malformed()
    got += bytes.copy(message, got, at + 5, at + 5 + length)
    at += 5 + length
    if (got > 0 && message[0] !== clientHello) throw malformed()
    if (got < 4) continue
    const end = 4 + message.readUIntBE(1, 3)
    if (end > maxClientHelloBytes) throw malformed()
    if (got >= end) return message.subarray(4, end)
  }
  return null
}

function parseHello(hello: Reader): ClientHello {
  hello.skip(2 + 32) // legacy_version, random
  hello.vector(1) // legacy_session_id
  hello.vector(2) // cipher_suites
  hello.vector(1) // legacy_compression_methods
  let serverName: string | null = null
  let protocols: string[] = []
  if (hello.isAtEnd) return { serverName, protocols }
  const extensions = hello.vector(2)
  while (!extensions.isAtEnd) {
    const type = extensions.integer(2)
    const content = extensions.vector(2)
    if (type === serverNameExtension) serverName = parseServerName(content)
    if (type === protocolsExtension) protocols = parseProtocols(content)
  }
  return { serverName, protocols }
}

function parseServerName(content: Reader): string | null {
  const names = content.vector(2)
  while (!names.isAtEnd) {
    const type = names.integer(1)
    const name = names.vector(2).text()
    if (type !== 0) continue
    if (!/^[a-zA-Z0-9_.-]{1,253}$/.test(name)) throw malformed()
    return name.toLowerCase()
  }
  return null
}

function parseProtocols(content: Reader): string[] {
  const list = content.vector(2)
  const protocols: string[] = []
  while (!list.isAtEnd) protocols.push(list.vector(1).text())
  return protocols
}

function malformed(): Error {
  return new Error('The client sent no valid ClientHello.')
}

/** Reads the presentation language of TLS (RFC 8446, section 3). */
class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  skip(length: number): void {
    this.#take(length)
  }

  integer(length: number): number {
    return this.#take(length).readUIntBE(0, length)
  }

  /** Reads a vector whose length takes a number of bytes. */
  vector(lengthBytes: number): Reader {
    return new Reader(this.#take(this.integer(lengthBytes)))
  }

  text(): string {
    return this.#bytes.toString('latin1')
  }

  #take(length: number): Buffer {
    const end = this.#at + length
    if (end > this.#bytes.length) throw malformed()
    const taken = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return taken
  }
}
