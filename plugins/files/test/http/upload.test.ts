import t from 'tap'
import { createFilesNode, get, put, upload } from '../fixtures/files-node.ts'
import { openFiles, temporaryFiles, untilEmpty } from '../fixtures/leftovers.ts'
import { multipart } from '../fixtures/multipart.ts'
import { openRaw, requestHead } from '../fixtures/raw-http.ts'

const maxFileSize = 100_000

t.test('POST and PUT of /write store a file', async (t) => {
  const node = await createFilesNode({ maxFileSize })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const text = async (path: string) => (await get(ada, 'read', path)).text()
  const stat = async (path: string) =>
    (await (await get(ada, 'stat', path)).json()) as { created: string; modified: string }

  t.test('the form and the raw body store the same', async (t) => {
    for (const [path, store] of [
      ['/by/form', upload],
      ['/by/put', put],
    ] as const) {
      const answer = await store(ada, path, 'content')
      t.equal(answer.status, 200)
      t.strictSame(await answer.json(), { success: true, path })
      t.equal(await text(path), 'content')
      t.equal(answer.headers.get('etag'), (await get(ada, 'read', path)).headers.get('etag'))
    }
  })

  t.test('a browser sends no form without a script', async (t) => {
    const parts = [
      { name: 'path', content: '/by/browser' },
      { name: 'file', content: 'content' },
    ]
    const { contentType, body } = multipart(parts)
    const head = { 'content-type': contentType, 'content-length': body.length }
    const send = async (mode: string) => {
      // `fetch` sets the mode itself.
      const raw = await openRaw(node)
      await raw.send(requestHead(ada, 'POST /write', { ...head, 'sec-fetch-mode': mode }))
      await raw.send(body)
      return raw.rest()
    }
    t.match(await send('navigate'), /^HTTP\/1\.1 403 /)
    t.equal((await get(ada, 'stat', '/by/browser')).status, 404)
    for (const mode of ['cors', 'same-origin']) t.match(await send(mode), /^HTTP\/1\.1 200 /, mode)
  })

  t.test('the parts of the form may arrive in any order, and the file may have no name', async (t) => {
    const path = { name: 'path', content: '/any/order' }
    for (const [index, filename] of ['name.txt', '', undefined].entries()) {
      const file = { name: 'file', content: `round ${index}`, ...(filename !== undefined && { filename }) }
      for (const parts of [
        [path, file],
        [file, path],
      ]) {
        const { contentType, body } = multipart(parts)
        const answer = await ada.fetch('/write', {
          method: 'POST',
          body,
          headers: { 'content-type': contentType },
        })
        t.equal(answer.status, 200, `${parts[0]?.name} first, named ${filename}`)
        t.equal(await text('/any/order'), `round ${index}`)
      }
    }
  })

  t.test('empty files, large chunks and all byte values are stored', async (t) => {
    const all = Buffer.from(Array.from({ length: 90_000 }, (_, index) => (index * 7) & 0xff))
    for (const bytes of [Buffer.alloc(0), Buffer.from('\r\n--'), all]) {
      for (const store of [upload, put]) {
        await store(ada, '/bytes', bytes)
        t.ok(Buffer.from(await (await get(ada, 'read', '/bytes')).arrayBuffer()).equals(bytes))
      }
    }
  })

  t.test('an overwritten file keeps its creation date', async (t) => {
    await put(ada, '/dated', 'one')
    const { created } = await stat('/dated')
    await put(ada, '/dated', 'two')
    await upload(ada, '/dated', 'three')
    const now = await stat('/dated')
    t.equal(now.created, created)
    t.ok(now.modified >= created)
  })

  t.test('conditions decide whether a file is written', async (t) => {
    const longAgo = 'Sun, 06 Nov 1994 08:49:37 GMT'
    const first = (await put(ada, '/conditional', '1', { 'if-none-match': '*' })).headers.get('etag') ?? ''
    const second = (await put(ada, '/conditional', '2', { 'if-match': first })).headers.get('etag') ?? ''
    const refused: [Record<string, string>, number][] = [
      [{ 'if-none-match': '*' }, 412],
      [{ 'if-match': first }, 412],
      [{ 'if-match': `W/${second}` }, 412],
      [{ 'if-match': '"x", "y"' }, 412],
      [{ 'if-none-match': first }, 400],
      [{ 'if-unmodified-since': longAgo }, 412],
      [{ 'if-none-match': '*', 'if-match': '*' }, 400],
    ]
    for (const [headers, status] of refused) {
      for (const store of [upload, put]) {
        const answer = await store(ada, '/conditional', '3', headers)
        t.equal(answer.status, status, JSON.stringify(headers))
        await answer.text()
      }
    }
    t.equal((await put(ada, '/none', '', { 'if-match': '*' })).status, 412)
    t.equal((await put(ada, '/new', '', { 'if-unmodified-since': longAgo })).status, 200)
    const modified = (await get(ada, 'read', '/new')).headers.get('last-modified') ?? ''
    t.equal((await put(ada, '/new', '', { 'if-unmodified-since': modified })).status, 200)
    t.equal(await text('/conditional'), '2')
    t.equal((await put(ada, '/conditional', '3', { 'if-match': '*' })).status, 200)
    const etag = (await get(ada, 'read', '/conditional')).headers.get('etag') ?? ''
    t.equal((await put(ada, '/conditional', '4', { 'if-match': `"other", ${etag}` })).status, 200)
  })

  t.test(
    'a file that is too large is refused at once if its length is known, otherwise at the limit',
    async (t) => {
      const large = Buffer.alloc(maxFileSize + 1)
      const streamed = () => new Blob([large]).stream()
      const huge = Buffer.alloc(maxFileSize + 200_000)
      const answers = [
        await put(ada, '/large', large),
        await put(ada, '/large', streamed()),
        await upload(ada, '/large', large),
        await upload(ada, '/large', huge),
      ]
      for (const answer of answers) {
        t.equal(answer.status, 413)
        const { error, code, message } = (await answer.json()) as Record<string, unknown>
        t.strictSame([error, code], [true, 'PAYLOAD_TOO_LARGE'])
        t.match(message, /^The file is too large.*100000/)
      }
      t.equal((await put(ada, '/exactly', Buffer.alloc(maxFileSize))).status, 200)
      t.equal((await upload(ada, '/exactly', Buffer.alloc(maxFileSize))).status, 200)
      t.equal((await get(ada, 'stat', '/large')).status, 404)
      t.strictSame(await temporaryFiles(node), [])
    },
  )

  t.test('a body that is announced as too large is not read', async (t) => {
    const raw = await openRaw(node)
    const headers = { 'content-length': maxFileSize + 1, expect: '100-continue' }
    await raw.send(requestHead(ada, 'PUT /write?path=/large', headers))
    t.match(await raw.rest(), /^HTTP\/1\.1 413 /)
    const { socket, ...fitting } = await openRaw(node)
    await fitting.send(requestHead(ada, 'PUT /write?path=/fits', { ...headers, 'content-length': 3 }))
    await fitting.until(/^HTTP\/1\.1 100 Continue\r\n\r\n$/)
    await fitting.send('fit')
    t.match(await fitting.rest(), /HTTP\/1\.1 200 OK/)
    t.ok(socket.closed)
  })

  t.test('paths at which no file can be stored are refused', async (t) => {
    await put(ada, '/folder/file', 'x')
    const refused: [string, number][] = [
      ['/', 409],
      ['/folder', 409],
      ['/folder/file/below', 409],
      ['/folder/', 400],
      ['/../x', 400],
      ['x', 400],
    ]
    for (const [path, status] of refused) {
      for (const store of [upload, put]) t.equal((await store(ada, path, 'y')).status, status, path)
    }
    t.equal(await text('/folder/file'), 'x')
  })

  t.test('a part of a file is refused', async (t) => {
    const part = await put(ada, '/part', 'x', { 'content-range': 'bytes 0-0/2' })
    t.equal(part.status, 400)
    t.equal((await put(ada, '/part', 'x', { 'content-encoding': 'gzip' })).status, 415)
    const form = multipart([
      { name: 'path', content: '/part' },
      { name: 'file', content: 'x', filename: 'x' },
    ])
    const packed = { 'content-type': form.contentType, 'content-encoding': 'gzip' }
    t.equal((await ada.fetch('/write', { method: 'POST', body: form.body, headers: packed })).status, 415)
    const untyped = await openRaw(node)
    await untyped.send(`${requestHead(ada, 'POST /write', { 'content-length': 1 })}x`)
    t.match(await untyped.rest(), /^HTTP\/1\.1 415 .*multipart\/form-data/s)
    t.equal((await ada.fetch('/write', { method: 'PUT', body: 'x' })).status, 400, 'the path is missing')
    for (const type of [
      'text/plain',
      'application/json',
      'application/x-www-form-urlencoded',
      'multipart/mixed',
    ]) {
      const headers = { 'content-type': type }
      const answer = await ada.fetch('/write', { method: 'POST', body: '{}', headers })
      t.equal(answer.status, 415, type)
      t.match(await answer.json(), { code: 'UNSUPPORTED_MEDIA_TYPE', message: /multipart\/form-data.*PUT/ })
    }
    t.equal((await ada.fetch('/write', { method: 'POST' })).status, 400)
    t.equal((await node.fetch('/write?path=/x', { method: 'PUT', body: 'x' })).status, 401)
  })

  t.test('encoded bodies are refused, in all spellings of the encoding', async (t) => {
    for (const coding of ['gzip, chunked', 'GZIP,chunked', 'deflate, chunked', 'x-unknown, chunked']) {
      for (const [target, type] of [
        ['PUT /write?path=/packed', 'text/plain'],
        ['POST /write', 'multipart/form-data; boundary=x'],
      ]) {
        const raw = await openRaw(node)
        const headers = { 'transfer-encoding': coding, 'content-type': type ?? '' }
        await raw.send(`${requestHead(ada, target ?? '', headers)}1\r\nx\r\n0\r\n\r\n`)
        t.match(await raw.rest(), /^HTTP\/1\.1 400 .*VALIDATION_ERROR/s, `${target} ${coding}`)
      }
    }
    t.equal((await get(ada, 'stat', '/packed')).status, 404)
    for (const coding of ['chunked', 'Chunked', ' CHUNKED ']) {
      const raw = await openRaw(node)
      const head = requestHead(ada, 'PUT /write?path=/whole', { 'transfer-encoding': coding })
      await raw.send(`${head}5\r\nwhole\r\n0\r\n\r\n`)
      t.match(await raw.rest(), /^HTTP\/1\.1 200 /, coding)
      t.equal(await text('/whole'), 'whole')
    }
  })

  t.test('a raw body is stored whatever its type, if it is not encoded', async (t) => {
    for (const type of ['application/json', 'TEXT/HTML', '', '/', 'no type', 'a/b; c', 'a;b=c', '*/*', '"']) {
      const answer = await put(ada, '/typed', `{${type}`, { 'content-type': type })
      t.equal(answer.status, 200, type)
      t.equal(await text('/typed'), `{${type}`)
    }
    for (const coding of ['identity', 'IDENTITY', ' Identity', '']) {
      t.equal((await put(ada, '/coded', 'x', { 'content-encoding': coding })).status, 200, coding)
    }
    for (const coding of ['gzip', 'identity, gzip', 'x']) {
      t.equal((await put(ada, '/coded', 'x', { 'content-encoding': coding })).status, 415, coding)
    }
    const raw = await openRaw(node)
    await raw.send(`${requestHead(ada, 'PUT /write?path=/untyped', { 'content-length': 3 })}raw`)
    t.match(await raw.rest(), /^HTTP\/1\.1 200 /)
  })

  t.test('a form whose path comes last and is refused leaves no descriptor open', async (t) => {
    const file = { name: 'file', content: 'x', filename: 'x' }
    for (const path of ['/../x', '/by']) {
      const { contentType, body } = multipart([file, { name: 'path', content: path }])
      const headers = { 'content-type': contentType }
      const answer = await ada.fetch('/write', { method: 'POST', body, headers })
      t.equal(answer.status, path === '/by' ? 409 : 400)
    }
    const waiting = async () => (await openFiles(node)).filter((path) => path.includes('/incoming/'))
    t.strictSame(await untilEmpty(waiting), [])
    t.strictSame(await temporaryFiles(node), [])
  })

  t.test('two hundred uploads at the same time are stored', async (t) => {
    const contents = Array.from({ length: 200 }, (_, index) => `${index}`.repeat(index))
    const store = (index: number) => [upload, put][index % 2] as typeof put
    const answers = await Promise.all(
      contents.map((content, index) => store(index)(ada, `/many/${index % 5}/${index}`, content)),
    )
    t.ok(answers.every(({ status }) => status === 200))
    for (const [index, content] of contents.entries()) {
      if ((await text(`/many/${index % 5}/${index}`)) !== content) t.fail(`file ${index}`)
    }
    t.strictSame(await temporaryFiles(node), [])
  })
})
