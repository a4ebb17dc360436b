import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createClient } from '@hey-api/openapi-ts'
import t from 'tap'
import { createFilesNode, get } from '../fixtures/files-node.ts'

/** The result of a call of the generated client. */
interface Result {
  readonly data?: unknown
  readonly error?: unknown
  readonly response: Response
}

type Call = (options: Readonly<Record<string, unknown>>) => Promise<Result>

/** The parts of the generated client that the test uses. */
interface GeneratedClient {
  readonly client: { setConfig(config: { auth: string }): void }
  readonly uploadFile: Call
  readonly writeFile: Call
  readonly readFile: Call
  readonly listFolder: Call
}

t.test('a client that is generated from /openapi.json uploads and downloads files', async (t) => {
  const node = await createFilesNode({ mounts: { '/memory': 'memory' } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-client-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const document = await (await ada.fetch('/openapi.json')).text()
  await writeFile(join(folder, 'openapi.json'), document)
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await createClient({
    input: join(folder, 'openapi.json'),
    output: { path: join(folder, 'client'), module: { extension: '.ts' } },
    plugins: ['@hey-api/client-fetch', '@hey-api/sdk'],
    logs: { level: 'silent', file: false },
  })
  const load = (file: string) => import(pathToFileURL(join(folder, 'client', file)).href)
  const { client } = (await load('client.gen.ts')) as GeneratedClient
  const { uploadFile, writeFile: write, readFile, listFolder } = (await load('sdk.gen.ts')) as GeneratedClient
  // The client takes the address of the node from the document.
  client.setConfig({ auth: ada.token })

  const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => (index * 7) % 256)
  const form = await uploadFile({ body: { path: '/memory/form.bin', file: new Blob([bytes]) } })
  t.match(form, { response: { status: 200 }, data: { success: true, path: '/memory/form.bin' } })
  const raw = await write({ query: { path: '/raw.bin' }, body: new Blob([bytes]) })
  t.match(raw, { response: { status: 200 }, data: { success: true, path: '/raw.bin' } })
  for (const path of ['/memory/form.bin', '/raw.bin']) {
    const stored = new Uint8Array(await (await get(ada, 'read', path)).arrayBuffer())
    t.strictSame(stored, bytes, `the node has the bytes of ${path}`)
    const { data } = await readFile({ query: { path } })
    t.strictSame(new Uint8Array(await (data as Blob).arrayBuffer()), bytes, `the client reads ${path}`)
  }
  const part = await readFile({ query: { path: '/raw.bin' }, headers: { range: 'bytes=10-19' } })
  t.equal(part.response.status, 206)
  t.strictSame(new Uint8Array(await (part.data as Blob).arrayBuffer()), bytes.slice(10, 20))
  t.match((await listFolder({ query: { path: '/' } })).data, [{ name: 'memory' }, { name: 'raw.bin' }])
  t.match((await readFile({ query: { path: '/nothing' } })).error, { error: true, code: 'NOT_FOUND' })
})
