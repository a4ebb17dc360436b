import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import { create } from 'tar'

/** The files of a package by their paths, besides its package.json. */
type Files = Readonly<Record<string, string>>

type Manifest = { readonly name: string; readonly version: string } & Readonly<Record<string, unknown>>

/** Makes the tarball of a package. */
export async function packed(manifest: Manifest, files: Files): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-packed-'))
  try {
    for (const [path, text] of Object.entries({ ...files, 'package.json': JSON.stringify(manifest) })) {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), text)
    }
    return await buffer(create({ gzip: true, cwd: folder, prefix: 'package' }, ['.']))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Makes the tarball of a plugin that starts only if it and a thread of it find the SDK of the node. */
export function packedPlugin(): Promise<Buffer> {
  const nodekeep = { id: 'threaded', sdk: '^0.1.0', entry: 'index.js' }
  return packed(
    { name: 'nodekeep-threaded', version: '1.0.0', type: 'module', nodekeep },
    {
      'index.js': `import { definePlugin } from '@nodekeep/plugin-sdk'
        import { runInThread } from '@nodekeep/plugin-sdk/threads'
        export default definePlugin({
          id: 'threaded',
          async setup({ routes }) {
            const thread = new URL('thread.js', import.meta.url)
            const word = await runInThread(thread, { name: 'word', order: 'word' })
            routes((app) => app.get('/threaded/' + word, async () => word))
          },
        })`,
      'thread.js': `import { answerInThread } from '@nodekeep/plugin-sdk/threads'
        await answerInThread((order) => order)`,
    },
  )
}

interface Published {
  readonly manifest: Readonly<Record<string, unknown>>
  readonly integrity: string
  readonly tarball: Buffer
}

/** A registry of npm on the loopback interface, with packages that tests publish. */
export async function registry(t: Test) {
  /** The versions of each package. */
  const published: Record<string, Record<string, Published>> = {}
  /** The `authorization` of each request. */
  const keys: (string | undefined)[] = []
  const server = createServer((request, response) => {
    keys.push(request.headers.authorization)
    const [, name = '', version = ''] = (request.url ?? '').split('/')
    const { tarball } = published[name]?.[version] ?? {}
    if (tarball !== undefined) return response.end(tarball)
    const versions = Object.entries(published[name] ?? {}).map(([version, { manifest, integrity }]) => {
      return [version, { ...manifest, dist: { tarball: `${url}/${name}/${version}`, integrity } }] as const
    })
    if (versions.length === 0) return response.writeHead(404).end('{}')
    const latest = versions.at(-1)?.[0]
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ name, 'dist-tags': { latest }, versions: Object.fromEntries(versions) }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const publish = (manifest: Manifest, tarball: Buffer, ofTarball = tarball) => {
    const integrity = `sha512-${createHash('sha512').update(ofTarball).digest('base64')}`
    published[manifest.name] = {
      ...published[manifest.name],
      [manifest.version]: { manifest, integrity, tarball },
    }
  }
  return {
    url,
    keys,
    async publish(manifest: Manifest, files: Files) {
      publish(manifest, await packed(manifest, files))
    },
    /** Publishes a package, and sends another one in its place. */
    async forge(manifest: Manifest, files: Files) {
      publish(manifest, await packed(manifest, files), await packed(manifest, {}))
    },
  }
}
