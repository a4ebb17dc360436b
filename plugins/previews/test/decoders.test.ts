import { definePlugin, PreviewDecoders } from '@nodekeep/plugin-sdk'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { ContentFailure } from '@nodekeep/plugin-sdk/sandbox-process'
import t, { test } from 'tap'
import {
  createPreviewNode,
  fixture,
  photosOf,
  put,
  refusalOf,
  sidesOf,
  untilComplete,
} from './fixtures/preview-node.ts'

type Formats = NodeAnswers['GET /api/previews/formats']

/** Decodes files that begin with "ACME" and a number, as red pictures. */
const acme = definePlugin({
  id: 'acme',
  contributes: { decoders: PreviewDecoders },
  setup({ decoders }) {
    decoders.add('acme', {
      extensions: ['acme'],
      recognizes: (head) => Buffer.from(head).toString('latin1', 0, 4) === 'ACME',
      async decode(content) {
        const text = Buffer.concat(await Array.fromAsync(content.bytes)).toString('latin1')
        const side = Number(text.slice(4))
        if (Number.isNaN(side)) throw new ContentFailure('refused', 'There is no number.')
        const [width, height] = [side / 2, side / 4]
        const rgba = new Uint8Array(width * height * 4).fill(200)
        const exif = fixture('photo.exif')
        return { width: side, height: side / 2, pixels: { width, height, rgba }, exif }
      },
    })
  },
})

const node = await createPreviewNode({ plugins: [acme], config: { previews: { maxPixels: 10_000_000 } } })
t.teardown(() => node.stop())

test('another plugin decodes a format', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/a.acme', Buffer.from('ACME2000'))
  t.strictSame(await sidesOf(ada, '/a.acme'), [256, 128])
  await untilComplete(ada)
  t.match((await photosOf(ada)).photos, [
    { path: '/a.acme', width: 2000, height: 1000, taken: '2026-05-01T12:00:00', camera: 'Acme One' },
  ])
})

test('its extensions are among those of pictures, and a file with another one has a preview when somebody asks', async (t) => {
  const ada = await node.signIn()
  const formats = (await (await ada.fetch('/api/previews/formats')).json()) as Formats
  t.match(formats, { pictures: ['avif', 'gif'], sounds: ['flac'] })
  t.ok(formats.pictures.includes('acme'))
  t.equal((await node.fetch('/api/previews/formats')).status, 401)
  await put(ada, '/unseen.acme', Buffer.from('ACME1200'))
  await put(ada, '/other.dat', Buffer.from('ACME1600'))
  await untilComplete(ada)
  t.strictSame(
    (await photosOf(ada)).photos.map(({ path }) => path),
    ['/unseen.acme'],
  )
  t.strictSame(await sidesOf(ada, '/other.dat'), [256, 128])
})

test('an extension that no name can have is refused', async (t) => {
  const wrong = definePlugin({
    id: 'wrong',
    contributes: { decoders: PreviewDecoders },
    setup({ decoders }) {
      const decoder = { extensions: ['.PSD'], recognizes: () => false, decode: () => Promise.reject() }
      t.throws(() => decoders.add('wrong', decoder), {
        message: /has the extension ".PSD", which must be lower case, without a dot/,
      })
    },
  })
  await (await createPreviewNode({ plugins: [wrong] })).stop()
})

test('its failures are remembered like others', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/broken.acme', Buffer.from('ACMEx'))
  t.match(await refusalOf(ada, '/broken.acme'), /^422 .* damaged, or not whole/)
  await put(ada, '/large.acme', Buffer.from('ACME8000'))
  t.match(await refusalOf(ada, '/large.acme'), /^422 .* too many pixels/)
  t.match(await untilComplete(ada), { failed: { broken: 1, pixels: 1 } })
})

test('files that nobody could decode are looked at again when there is a decoder', async (t) => {
  const dataFolder = t.testdir()
  let later = await createPreviewNode({ dataFolder })
  t.teardown(() => later.stop())
  const owner = await later.signIn('owner')
  await put(owner, '/a.acme', Buffer.from('ACME1000'))
  t.match(await untilComplete(owner), { made: 0, failed: {} })
  await later.stop()
  later = await createPreviewNode({ dataFolder, plugins: [acme] })
  const again = await later.signIn('owner')
  t.match(await untilComplete(again), { made: 1 })
  t.match((await photosOf(again)).photos, [{ path: '/a.acme', width: 1000 }])
})
