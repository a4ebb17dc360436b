// In a process of its own: the client leaves listeners of signals behind.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { Upload, type UploadOptions } from 'tus-js-client'
import { type Client, createUploadsNode, read } from './fixtures/uploads-node.ts'

const mebibyte = 1024 * 1024

/** Sends a file with an unchanged client. `seen` gets each answer. */
function send(
  file: Buffer | Readable,
  { token, ...options }: UploadOptions & { readonly token: string },
): { readonly upload: Upload; readonly ended: Promise<void> } {
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>()
  const upload = new Upload(file, {
    headers: { authorization: `Bearer ${token}` },
    retryDelays: null,
    onSuccess: () => resolve(),
    onError: reject,
    ...options,
  })
  upload.start()
  return { upload, ended }
}

test('an unchanged client of tus sends files in all its ways', async (t) => {
  const node = await createUploadsNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const bytes = randomBytes(5 * mebibyte)
  const endpoint = new URL('/api/files/uploads', node.url).href
  const ways: [string, Partial<UploadOptions>][] = [
    ['whole', {}],
    ['in pieces', { chunkSize: mebibyte }],
    ['at once', { uploadDataDuringCreation: true }],
    ['without a length', { uploadLengthDeferred: true, chunkSize: mebibyte }],
    ['by POST', { overridePatchMethod: true, chunkSize: 2 * mebibyte }],
  ]
  for (const [name, way] of ways) {
    const content = way.uploadLengthDeferred ? Readable.from([bytes]) : bytes
    let etag: string | undefined
    const onAfterResponse: UploadOptions['onAfterResponse'] = (_request, answer) => {
      etag = answer.getHeader('etag')
    }
    const metadata = { path: `/${name}`, filetype: 'application/octet-stream' }
    await send(content, { token: ada.token, endpoint, metadata, onAfterResponse, ...way }).ended
    t.same(await read(ada, `/${name}`), bytes, name)
    const stat = await ada.fetch(`/stat?path=/${encodeURIComponent(name)}`)
    t.equal(etag, stat.headers.get('etag'))
  }
  const { upload } = send(bytes, {
    token: ada.token,
    endpoint,
    metadata: { path: '/terminated' },
    chunkSize: mebibyte,
    onChunkComplete: () => upload.abort(true).then(aborted.resolve, aborted.reject),
  })
  const aborted = Promise.withResolvers<void>()
  await aborted.promise
  t.same(await (await ada.fetch('/api/files/uploads')).json(), { uploads: [] })
})

test('an upload goes on after kill -9, with another session, at another address', async (t) => {
  const dataFolder = t.testdir()
  const bytes = randomBytes(12 * mebibyte)
  const first = await start(dataFolder, t)
  const ada = clientOf(first)
  const made = await ada.fetch('/api/account/tokens', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'phone', scopes: ['files:write'] }),
  })
  const phone = (await made.json()) as { readonly token: string; readonly details: { readonly id: string } }
  let url = ''
  const broken = send(bytes, {
    token: phone.token,
    endpoint: `${first.url}/api/files/uploads`,
    metadata: { path: '/large' },
    chunkSize: 4 * mebibyte,
    onProgress(sent) {
      // The first piece was answered, and the second one is on the way.
      if (sent <= 4 * mebibyte) return
      url = broken.upload.url ?? ''
      first.process.kill('SIGKILL')
    },
  })
  await t.rejects(broken.ended)
  await first.exited

  const second = await start(dataFolder, t)
  const again = clientOf({ ...second, token: first.token })
  const revoked = await again.fetch(`/api/account/tokens/${phone.details.id}`, { method: 'DELETE' })
  t.equal(revoked.status, 200)
  const uploadUrl = `${second.url}${new URL(url).pathname}`
  await t.rejects(send(bytes, { token: phone.token, uploadUrl }).ended, 'the token has ended')
  let sent = 0
  const resumed = send(bytes, {
    token: first.token,
    uploadUrl,
    onBeforeRequest: (request) => {
      if (request.getMethod() === 'PATCH') sent = bytes.length - Number(request.getHeader('Upload-Offset'))
    },
  })
  await resumed.ended
  t.ok(sent <= 8 * mebibyte, `${sent} bytes were sent again`)
  t.same(await read(again, '/large'), bytes)
  second.process.kill('SIGKILL')
  await second.exited
})

interface RunningNode {
  readonly process: ChildProcess
  readonly exited: Promise<unknown>
  readonly url: string
  /** A session of a user who is new. */
  readonly token: string
}

async function start(dataFolder: string, t: Test): Promise<RunningNode> {
  const program = fileURLToPath(new URL('fixtures/uploads-process.ts', import.meta.url))
  const child = spawn(process.execPath, ['--conditions=nodekeep-source', program, dataFolder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  t.teardown(() => child.kill('SIGKILL'))
  const [line] = await once(createInterface(child.stdout), 'line')
  return { process: child, exited, ...JSON.parse(line) }
}

function clientOf({ url, token }: Pick<RunningNode, 'url' | 'token'>): Client {
  return {
    fetch: (path, init = {}) => {
      const headers = new Headers(init.headers)
      headers.set('authorization', `Bearer ${token}`)
      return fetch(new URL(path, url), { ...init, headers })
    },
  }
}
