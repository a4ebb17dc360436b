import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Fault } from './fault.ts'
import { type FilesProcess, startFiles } from './files-process.ts'
import { type Random, randomOf } from './random.ts'

const tus = { 'tus-resumable': '1.0.0' }
const uploadCount = 4

/** A client that uploads a file to a path where nothing is, and goes on after each kill. */
class UploadingClient {
  readonly #path: string
  readonly #content: Buffer
  readonly #random: Random
  #address = ''
  /** Bytes that the node has acknowledged. */
  #acknowledged = 0
  hasEnded = false

  constructor(path: string, random: Random) {
    this.#path = path
    this.#random = random
    this.#content = Buffer.alloc(random.integer(1, 3_000_000), random.bytes(1021))
  }

  /** Goes on until the file is stored, or the node is gone. */
  async run(node: FilesProcess): Promise<void> {
    try {
      if (this.#address === '') await this.#begin(node)
      let offset = await this.#offset(node)
      while (!this.hasEnded) offset = await this.#send(node, offset)
    } catch (error) {
      // `fetch` fails like this when the node is killed.
      if (!(error instanceof TypeError)) throw error
    }
  }

  async check(node: FilesProcess): Promise<void> {
    const answer = await this.#fetch(node, `/read?path=${this.#path}`)
    assert.ok(this.#content.equals(Buffer.from(await answer.arrayBuffer())), `${this.#path} is whole`)
    const head = await this.#fetch(node, this.#address, { method: 'HEAD', headers: tus })
    assert.equal(head.headers.get('etag'), answer.headers.get('etag'))
  }

  async #begin(node: FilesProcess): Promise<void> {
    const metadata = `path ${Buffer.from(this.#path).toString('base64')}`
    const length = { 'upload-length': `${this.#content.length}` }
    const headers = { ...tus, ...length, 'upload-metadata': metadata, 'if-none-match': '*' }
    const answer = await this.#fetch(node, '/api/files/uploads', { method: 'POST', headers })
    assert.equal(answer.status, 201)
    this.#address = answer.headers.get('location') ?? ''
  }

  async #offset(node: FilesProcess): Promise<number> {
    const answer = await this.#fetch(node, this.#address, { method: 'HEAD', headers: tus })
    assert.equal(answer.status, 200)
    const offset = Number(answer.headers.get('upload-offset'))
    assert.ok(offset >= this.#acknowledged, `${offset} of ${this.#acknowledged} bytes are there`)
    this.hasEnded = offset === this.#content.length
    return offset
  }

  async #send(node: FilesProcess, offset: number): Promise<number> {
    const piece = this.#content.subarray(offset, offset + this.#random.integer(1, 1_000_000))
    const type = { 'content-type': 'application/offset+octet-stream' }
    const headers = { ...tus, ...type, 'upload-offset': `${offset}` }
    const answer = await this.#fetch(node, this.#address, { method: 'PATCH', headers, body: piece })
    assert.equal(answer.status, 204, await answer.text())
    const next = Number(answer.headers.get('upload-offset'))
    // The last byte counts when the file is stored, and the answer says so.
    this.#acknowledged = next
    this.hasEnded = next === this.#content.length
    return next
  }

  #fetch({ url, session }: FilesProcess, path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { ...init.headers, authorization: `Bearer ${session.token}` }
    return fetch(new URL(path, url), { ...init, headers })
  }
}

export default {
  name: 'Uploads by tus go on after each kill of the node, and each file is stored once and whole.',
  defaultRounds: 60,
  async round({ random, seed, signal, log }) {
    const folder = await mkdtemp(join(tmpdir(), 'nodekeep-uploads-'))
    const start = (session?: FilesProcess['session']) =>
      startFiles(folder, session, { environment: { FILES_UPLOADS: 'yes' } })
    let node = await start()
    try {
      const clients = Array.from(
        { length: uploadCount },
        (_, index) => new UploadingClient(`/${index}`, randomOf(seed * uploadCount + index)),
      )
      for (let kill = 0; kill < 4; kill += 1) {
        const running = Promise.all(clients.map((client) => client.hasEnded || client.run(node)))
        await Promise.race([delay(random.integer(0, 200)), running])
        await node.kill()
        await running
        log(`${clients.filter(({ hasEnded }) => hasEnded).length} of ${uploadCount} are stored`)
        node = await start(node.session)
      }
      await Promise.all(clients.map((client) => client.hasEnded || client.run(node)))
      for (const client of clients) await client.check(node)
      const staged = join(folder, 'plugins/uploads/not-in-backups/staged', node.session.uuid)
      // The start removes what a killed node has left.
      while ((await readdir(staged)).length > 0) await delay(10, undefined, { signal })
    } finally {
      await node.kill()
      await rm(folder, { recursive: true, force: true })
    }
  },
} satisfies Fault
