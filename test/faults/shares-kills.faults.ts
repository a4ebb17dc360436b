import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Fault } from './fault.ts'
import { type FilesProcess, startFiles } from './files-process.ts'
import { type Random, randomOf } from './random.ts'

const tus = { 'tus-resumable': '1.0.0' }
const guestCount = 4
const killCount = 4

/** Names that guests give their files. Each is given often. */
const names = ['a.jpg', 'b.jpg', 'c'] as const

/** A file that a guest sends, with a content that no other one has. */
interface SentFile {
  readonly content: Buffer<ArrayBuffer>
  /** Whether the guest was told that it is stored. A file of a form may be stored without that. */
  isStored: boolean
  readonly isOfForm: boolean
}

/** A guest who sends files one after the other, and goes on with each after a kill. Some are sent by a form: nobody goes on with these. */
class Guest {
  readonly #link: string
  readonly #random: Random
  readonly sent: SentFile[] = []
  /** The address of the upload of the last file; empty before it has one. */
  #address = ''

  constructor(link: string, random: Random) {
    this.#link = link
    this.#random = random
  }

  /** Sends files until the node is gone, or until the file that is being sent is stored. */
  async run({ url }: FilesProcess, isOver: () => boolean): Promise<void> {
    const node = (path: string, init: RequestInit) => fetch(new URL(path, url), init)
    try {
      do {
        const last = this.sent.at(-1)
        const file = last === undefined || last.isStored || last.isOfForm ? this.#next() : last
        if (file.isOfForm) await this.#sendForm(node, file)
        else await this.#send(node, file)
      } while (!isOver())
    } catch (error) {
      // `fetch` fails like this when the node is killed.
      if (!(error instanceof TypeError)) throw error
    }
  }

  #next(): SentFile {
    const content = Buffer.alloc(this.#random.integer(16, 300_000), this.#random.bytes(1021))
    const file = { content, isStored: false, isOfForm: this.#random.chance(0.2) }
    this.sent.push(file)
    this.#address = ''
    return file
  }

  async #sendForm(node: Requests, file: SentFile): Promise<void> {
    const body = new FormData()
    body.append('file', new Blob([file.content]), this.#random.pick(names))
    const answer = await node(`${this.#link}/drop`, { method: 'POST', body })
    const text = await answer.text()
    // The folder may move all the time.
    assert.ok(answer.status === 200 || answer.status === 503, text)
    file.isStored = answer.status === 200
  }

  async #send(node: Requests, file: SentFile): Promise<void> {
    const { length } = file.content
    if (this.#address === '') {
      const metadata = `filename ${Buffer.from(this.#random.pick(names)).toString('base64')}`
      const headers = { ...tus, 'upload-length': `${length}`, 'upload-metadata': metadata }
      const answer = await node(`${this.#link}/uploads`, { method: 'POST', headers })
      assert.equal(answer.status, 201, await answer.text())
      this.#address = answer.headers.get('location') ?? ''
    }
    for (;;) {
      const head = await node(this.#address, { method: 'HEAD', headers: tus })
      assert.equal(head.status, 200)
      const offset = Number(head.headers.get('upload-offset'))
      file.isStored = offset === length
      if (file.isStored) return
      const piece = file.content.subarray(offset, offset + this.#random.integer(1, 300_000))
      const type = { 'content-type': 'application/offset+octet-stream' }
      const headers = { ...tus, ...type, 'upload-offset': `${offset}` }
      const answer = await node(this.#address, { method: 'PATCH', headers, body: piece })
      const text = await answer.text()
      assert.ok(answer.status === 204 || answer.status === 503, text)
    }
  }
}

type Requests = (path: string, init: RequestInit) => Promise<Response>

/** A maker, who moves the folder of the link about meanwhile. */
class Maker {
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  async run(node: FilesProcess, isOver: () => boolean): Promise<void> {
    try {
      while (!isOver()) {
        await delay(this.#random.integer(0, 100))
        const { path } = await linkOf(node)
        const destination = this.#random.pick(['/in', '/moved', '/folder/in'])
        // A file that was written while the folder moved has left a folder where it was.
        if (path !== null && path !== destination)
          await call(node, 'POST', '/move', { source: path, destination, overwrite: true })
      }
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
    }
  }
}

interface Link {
  readonly path: string | null
  readonly dropped: { readonly files: number; readonly bytes: number }
  readonly used: { readonly uploads: number }
}

/** The only link of the node. */
async function linkOf(node: FilesProcess): Promise<Link> {
  const { shares } = (await call(node, 'GET', '/api/shares')) as { shares: Link[] }
  assert.equal(shares.length, 1)
  return shares[0] as Link
}

async function call({ url, session }: FilesProcess, method: string, path: string, body?: object) {
  const authorization = `Bearer ${session.token}`
  const init =
    body === undefined
      ? { headers: { authorization } }
      : { headers: { authorization, 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const answer = await fetch(new URL(path, url), { method, ...init })
  const json = await answer.json()
  assert.equal(answer.status, 200, JSON.stringify(json))
  return json
}

/** Each file that was sent stands once in the folder of the link, and counts once. */
async function check(node: FilesProcess, folder: string, guests: readonly Guest[]): Promise<void> {
  const { path, dropped, used } = await linkOf(node)
  const disk = join(folder, 'files', node.session.uuid, path ?? '')
  const sent = new Map(
    guests.flatMap((guest) => guest.sent.map((file) => [file.content.toString('latin1'), file])),
  )
  const { entries } = (await call(node, 'GET', `/api/files/list?path=${path}`)) as {
    entries: { name: string; size: number }[]
  }
  let bytes = 0
  const found = new Set<SentFile>()
  for (const { name, size } of entries) {
    const answer = await fetch(new URL(`/read?path=${encodeURIComponent(`${path}/${name}`)}`, node.url), {
      headers: { authorization: `Bearer ${node.session.token}` },
    })
    const file = sent.get(Buffer.from(await answer.arrayBuffer()).toString('latin1'))
    assert.ok(file !== undefined, `${name} was sent`)
    assert.ok(!found.has(file), `${name} is stored once`)
    found.add(file)
    bytes += size
  }
  for (const file of sent.values())
    assert.ok(!file.isStored || found.has(file), 'a file that was answered is there')
  assert.equal((await readdir(disk)).length, entries.length)
  assert.deepEqual(dropped, { files: found.size, bytes })
  assert.equal(used.uploads, found.size)
  const usage = (await call(node, 'GET', '/api/files/usage')) as { bytes: number }
  assert.equal(usage.bytes, bytes, 'no other folder has a file')
}

export default {
  name: 'Guests upload by a link while the node is killed and the folder moves: each file is stored once, and counted once.',
  defaultRounds: 40,
  async round({ random, seed, signal, log }) {
    const folder = await mkdtemp(join(tmpdir(), 'nodekeep-shares-'))
    const environment = { FILES_SHARES: 'yes' }
    const start = (session?: FilesProcess['session']) => startFiles(folder, session, { environment })
    let node = await start()
    try {
      await call(node, 'POST', '/mkdir', { path: '/in' })
      await call(node, 'POST', '/mkdir', { path: '/folder' })
      const wishes = { path: '/in', kind: 'drop', maxFiles: 10_000 }
      const { url } = (await call(node, 'POST', '/api/shares', wishes)) as { url: string }
      const link = new URL(url).pathname
      const count = guestCount + 1
      const guests = Array.from(
        { length: guestCount },
        (_, index) => new Guest(link, randomOf(seed * count + index)),
      )
      const maker = new Maker(randomOf(seed * count + guestCount))
      for (let kill = 0; kill < killCount; kill += 1) {
        const isOver = () => false
        const running = Promise.all([
          ...guests.map((guest) => guest.run(node, isOver)),
          ...(random.chance(0.5) ? [maker.run(node, isOver)] : []),
        ])
        // The failure of one must not be unhandled while the node is killed.
        running.catch(() => {})
        await Promise.race([delay(random.integer(0, 400)), running])
        await node.kill()
        await running
        log(`${guests.reduce((sum, { sent }) => sum + sent.length, 0)} files were sent`)
        node = await start(node.session)
      }
      await Promise.all(guests.map((guest) => guest.run(node, () => true)))
      // The start ends what nobody goes on with.
      const staged = join(folder, 'plugins/shares/not-in-backups/staged')
      while ((await readdir(staged)).length > 0) await delay(10, undefined, { signal })
      await check(node, folder, guests)
    } finally {
      await node.kill()
      await rm(folder, { recursive: true, force: true })
    }
  },
} satisfies Fault
