import { mkdir, open, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { concurrently } from '@nodekeep/plugin-sdk'
import type { Bench } from './bench.ts'
import { besideLargeFolder } from './fixtures/files-large-folder.ts'
import { largeTrash } from './fixtures/files-large-trash.ts'
import { listing } from './fixtures/files-listing.ts'
import { type FilesServers, nginxProgram, startFilesServers } from './fixtures/files-stand.ts'
import { output, type Transfer, transfer } from './fixtures/files-transfers.ts'
import { loadHttp } from './http-load.ts'
import { cpuSeconds } from './process.ts'

const gigabyte = 2 ** 30

function smallReads(against: 'bare node:http' | 'nginx'): Bench {
  return {
    name: `files: GET /read of 1 KiB files, against ${against}`,
    unit: 'requests/s',
    better: 'more',
    ...(against === 'bare node:http' && { goal: { ratio: 0.8 }, starts: 3 }),
    async setUp() {
      const servers = await startFilesServers()
      const nginx = against === 'nginx' ? await servers.nginx() : null
      const names = Array.from({ length: 1000 }, (_, n) => `${n}.txt`)
      for (const folder of [servers.nodeFolder, nginx ? servers.nginxFolder : servers.bareFolder])
        for (const name of names) await writeFile(join(folder, name), name.padEnd(1024))
      const { node, authorization } = servers
      const ours = {
        url: node.url,
        headers: { authorization },
        paths: names.map((name) => `/read?path=/${name}`),
      }
      const baseline = {
        url: (nginx ?? servers.bare).url,
        paths: names.map((name) => (nginx ? `/${name}` : `/small/${name}`)),
      }
      // V8 goes on compiling a server's code for some 60,000 requests. A node at work has them behind it.
      for (const load of [ours, baseline]) await loadHttp({ ...load, seconds: 8 })
      return {
        ours: async () => (await loadHttp(ours)).requestsPerSecond,
        baseline: async () => (await loadHttp(baseline)).requestsPerSecond,
        tearDown: servers.tearDown,
      }
    },
  }
}

const largeRead: Bench = {
  name: 'files: GET /read of 1 GiB, rate, against a bare double-buffered loop',
  unit: 'MB/s',
  better: 'more',
  goal: { ratio: 0.9 },
  also: [
    {
      name: 'files: GET /read of 1 GiB, CPU, against a bare double-buffered loop',
      unit: 's',
      better: 'less',
      goal: { ratio: 1.2 },
    },
  ],
  async setUp() {
    const servers = await startFilesServers()
    for (const folder of [servers.nodeFolder, servers.bareFolder]) await fill(join(folder, 'large'), gigabyte)
    const measured = async (pid: number, get: Pick<Transfer, 'url' | 'authorization'>) => {
      const before = await cpuSeconds(pid)
      let seconds = 0
      for (let n = 0; n < 3; n += 1) seconds += await transfer({ method: 'GET', bytes: gigabyte, ...get })
      return [(3 * gigabyte) / 1e6 / seconds, ((await cpuSeconds(pid)) - before) / 3]
    }
    const { node, bare, authorization } = servers
    return {
      ours: () => measured(node.pid, { url: servers.at('read', '/large'), authorization }),
      baseline: () => measured(bare.pid, { url: `${bare.url.origin}/large/large` }),
      tearDown: servers.tearDown,
    }
  },
}

/** Stores 1 GiB per round, and removes the file after each. */
function largeWrite(
  name: string,
  goal: number,
  baseline: (servers: FilesServers) => Promise<Way>,
  ours: Way,
): Bench {
  return {
    name: `files: ${name}`,
    unit: 'MB/s',
    better: 'more',
    goal: { ratio: goal },
    rounds: 3,
    async setUp() {
      const servers = await startFilesServers()
      const other = await baseline(servers)
      const rate = async (way: Way) => {
        const { file, send } = way(servers)
        const seconds = await send()
        await rm(file)
        return gigabyte / 1e6 / seconds
      }
      return { ours: () => rate(ours), baseline: () => rate(other), tearDown: servers.tearDown }
    },
  }
}

/** A way to store a file. `send` returns the seconds until the file is on the disk. */
type Way = (servers: FilesServers) => { readonly file: string; send(): Promise<number> }

const raw: Way = ({ nodeFolder, authorization, at }) => ({
  file: join(nodeFolder, 'large'),
  send: () => transfer({ method: 'PUT', url: at('write', '/large'), authorization, bytes: gigabyte }),
})

const tus: Way = ({ node, nodeFolder, authorization }) => ({
  file: join(nodeFolder, 'large'),
  async send() {
    const began = performance.now()
    const metadata = `path ${Buffer.from('/large').toString('base64')}`
    const begun = await fetch(new URL('/api/files/uploads', node.url), {
      method: 'POST',
      headers: {
        authorization,
        'tus-resumable': '1.0.0',
        'upload-length': String(gigabyte),
        'upload-metadata': metadata,
      },
    })
    const beginning = (performance.now() - began) / 1000
    const url = new URL(begun.headers.get('location') ?? '', node.url).href
    const headers = {
      'tus-resumable': '1.0.0',
      'upload-offset': '0',
      'content-type': 'application/offset+octet-stream',
    }
    return beginning + (await transfer({ method: 'PATCH', url, authorization, headers, bytes: gigabyte }))
  },
})

const form: Way = ({ node, nodeFolder, authorization }) => ({
  file: join(nodeFolder, 'large'),
  send: () =>
    transfer({
      method: 'POST',
      url: `${node.url.origin}/write`,
      authorization,
      bytes: gigabyte,
      form: { path: '/large' },
    }),
})

const bare: Way = ({ bare, bareFolder }) => ({
  file: join(bareFolder, 'large'),
  send: () => transfer({ method: 'PUT', url: `${bare.url.origin}/large`, bytes: gigabyte }),
})

async function nginxWay(servers: FilesServers): Promise<Way> {
  const { url } = await servers.nginx()
  const file = join(servers.nginxFolder, 'large')
  const send = async () => {
    const sent = await transfer({ method: 'PUT', url: `${url.origin}/large`, bytes: gigabyte })
    const began = performance.now()
    const stored = await open(file)
    await stored.sync()
    await stored.close()
    return sent + (performance.now() - began) / 1000
  }
  return () => ({ file, send })
}

const smallWrites: Bench = {
  name: 'files: 10,000 durable writes of 1 KiB, 32 at once, against a script',
  unit: 'files/s',
  better: 'more',
  goal: { ratio: 0.5 },
  rounds: 3,
  async setUp() {
    const servers = await startFilesServers()
    const { node, nodeFolder, authorization } = servers
    let round = 0
    return {
      async ours() {
        round += 1
        await mkdir(join(nodeFolder, `${round}`))
        const rate = Number(
          await output('files-small-writes.ts', node.url.origin, `/write?path=/${round}`, authorization),
        )
        const stored = (await readdir(join(nodeFolder, `${round}`))).length
        if (stored !== 10_000) throw new Error(`There are ${stored} files in place of 10,000.`)
        return rate
      },
      baseline: async () =>
        Number(await output('files-bare-writes.ts', join(servers.bareFolder, `${round}`))),
      tearDown: servers.tearDown,
    }
  },
}

/** Each round overwrites the files of the one before. The first one, which makes them, does not count. */
const overwrites: Bench = {
  name: 'files: 10,000 durable overwrites of 1 KiB that keep versions, 32 at once, against a script that keeps none',
  unit: 'files/s',
  better: 'more',
  goal: { ratio: 0.4 },
  rounds: 3,
  async setUp() {
    const { node, authorization, bareFolder, tearDown } = await startFilesServers()
    const written = async (...args: Parameters<typeof output>) => Number(await output(...args))
    return {
      ours: () => written('files-small-writes.ts', node.url.origin, '/write?path=/same', authorization),
      baseline: () => written('files-bare-writes.ts', join(bareFolder, 'same')),
      tearDown,
    }
  },
}

const deletions: Bench = {
  name: 'files: 2,000 deletions into the trash, 16 at once, against deletions for good',
  unit: 'ms',
  better: 'less',
  goal: { ratio: 1.5 },
  async setUp() {
    const { node, authorization, tearDown } = await startFilesServers()
    const paths = Array.from({ length: 2000 }, (_, n) => `/${n}.txt`)
    const ask = async (target: string, init: RequestInit) => {
      const headers = { authorization, 'content-type': 'application/json' }
      const answer = await fetch(new URL(target, node.url), { ...init, headers })
      const text = await answer.text()
      if (!answer.ok) throw new Error(`${target} was answered with ${answer.status}: ${text}`)
    }
    const deleteAll = async (permanent: boolean) => {
      await concurrently(paths, 16, (path) => ask(`/write?path=${path}`, { method: 'PUT', body: 'x' }))
      const began = performance.now()
      await concurrently(paths, 16, (path) =>
        ask('/delete', { method: 'POST', body: JSON.stringify({ path, permanent }) }),
      )
      return performance.now() - began
    }
    return { ours: () => deleteAll(false), baseline: () => deleteAll(true), tearDown }
  },
}

async function fill(path: string, bytes: number): Promise<void> {
  const file = await open(path, 'wx')
  const piece = Buffer.alloc(1024 * 1024, 'The bytes of a large file. ')
  for (let written = 0; written < bytes; written += piece.length) await file.write(piece)
  await file.sync()
  await file.close()
}

const missing = nginxProgram === null && 'nginx'

export default [
  smallReads('bare node:http'),
  largeRead,
  largeWrite('PUT /write of 1 GiB, against bare node:http', 0.9, async () => bare, raw),
  largeWrite('POST /write of 1 GiB as a form, against PUT /write', 0.85, async () => raw, form),
  largeWrite('upload of 1 GiB by tus, against PUT /write', 0.5, async () => raw, tus),
  { ...smallReads('nginx'), missing },
  {
    ...largeWrite("PUT /write of 1 GiB, against nginx's WebDAV PUT and a sync", 0.9, nginxWay, raw),
    missing,
  },
  smallWrites,
  overwrites,
  deletions,
  listing,
  largeTrash,
  besideLargeFolder,
] satisfies Bench[]
