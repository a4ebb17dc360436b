import { readFileSync } from 'node:fs'
import { createTestNode } from '@nodekeep/kernel/testing'
import type { ContentSource, DecodedPicture, Log, PictureDecodeOptions } from '@nodekeep/plugin-sdk'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { isContentFailure } from '@nodekeep/plugin-sdk/sandbox-process'
import t, { test } from 'tap'
import { HeicDecoder } from '../src/heic-decoder.ts'
import plugin from '../src/index.ts'
import { turnedGrid } from './fixtures/grid.ts'

/** 96 by 64 pixels: the upper half is red, the lower one blue. Its Exif data name the camera "Nodekeep". */
const picture = readFileSync(new URL('fixtures/halves.heic', import.meta.url))

const warnings: object[] = []
const decoder = new HeicDecoder({ warn: (line: object) => warnings.push(line) } as unknown as Log)
t.teardown(() => decoder.stop())

function contentOf(bytes: Uint8Array): ContentSource {
  return {
    size: bytes.length,
    bytes: (async function* () {
      yield bytes
    })(),
  }
}

function decode(bytes: Uint8Array, options: Partial<PictureDecodeOptions> = {}): Promise<DecodedPicture> {
  const { signal } = new AbortController()
  return decoder.decode(contentOf(bytes), { longestSide: 1600, signal, first: false, ...options })
}

/** The most of the three colors of a pixel. */
function colorAt({ pixels: { width, rgba } }: DecodedPicture, x: number, y: number): string | undefined {
  const colors = [...rgba.subarray(4 * (y * width + x), 4 * (y * width + x) + 3)]
  return ['red', 'green', 'blue'][colors.indexOf(Math.max(...colors))]
}

/** Returns whether a file is decoded, or the reason why it is not. */
async function outcome(bytes: Uint8Array): Promise<string> {
  try {
    const { pixels } = await decode(bytes)
    return pixels.rgba.length === 4 * pixels.width * pixels.height ? 'decoded' : 'odd'
  } catch (error) {
    if (isContentFailure(error)) return error.reason
    throw error
  }
}

test('A picture is decoded with its Exif data', async (t) => {
  const decoded = await decode(picture)
  const { width, height, pixels, exif } = decoded
  t.strictSame([width, height, pixels.width, pixels.height], [96, 64, 96, 64])
  t.equal(pixels.rgba.length, 4 * 96 * 64)
  t.strictSame([colorAt(decoded, 48, 10), colorAt(decoded, 48, 54)], ['red', 'blue'])
  t.match(Buffer.from(exif ?? []).toString('latin1'), /^(II\*\0|MM\0\*).*Nodekeep/s)
})

test('A picture that is much larger than what is wanted is scaled down', async (t) => {
  const decoded = await decode(picture, { longestSide: 30 })
  const { width, height, pixels } = decoded
  t.strictSame([width, height, pixels.width, pixels.height], [96, 64, 32, 21])
  t.strictSame([colorAt(decoded, 16, 3), colorAt(decoded, 16, 18)], ['red', 'blue'])
})

test('A picture that is put together of parts is whole, and upright', async (t) => {
  const decoded = await decode(turnedGrid(picture))
  t.strictSame([decoded.width, decoded.height], [64, 192])
  // The upper half of each part is on the left now.
  for (const y of [10, 86, 106, 182])
    t.strictSame([colorAt(decoded, 10, y), colorAt(decoded, 54, y)], ['red', 'blue'])
})

test('A picture that says that it is huge is refused', async (t) => {
  const bomb = Buffer.from(picture)
  for (let at = bomb.indexOf('ispe'); at >= 0; at = bomb.indexOf('ispe', at + 4)) {
    bomb.writeUInt32BE(60_000, at + 8)
    bomb.writeUInt32BE(60_000, at + 12)
  }
  t.equal(await outcome(bomb), 'memory')
})

test('Truncated and damaged files end in a refusal or in a picture, and the next one is decoded', async (t) => {
  const outcomes = new Map<string, number>()
  const count = (name: string) => outcomes.set(name, (outcomes.get(name) ?? 0) + 1)
  for (let length = 0; length < picture.length; length += 45)
    count(await outcome(picture.subarray(0, length)))
  for (let seed = 1; seed <= 100; seed += 1) count(await outcome(damaged(seed)))
  t.strictSame(
    [...outcomes.keys()].filter((name) => !['decoded', 'refused', 'memory', 'ended', 'time'].includes(name)),
    [],
  )
  t.ok((outcomes.get('refused') ?? 0) > 30)
  t.equal(await outcome(picture), 'decoded')
})

test('An abort ends the decoding', async (t) => {
  await t.rejects(decode(picture, { signal: AbortSignal.abort(new Error('nobody looks')) }), {
    message: 'nobody looks',
  })
})

test('A HEIC file has a preview, and is among the photos', async (t) => {
  const node = await createTestNode({
    plugins: [plugin],
    config: { plugins: { files: true, 'storage-local': true, previews: true } },
  })
  t.teardown(() => node.stop())
  const { fetch } = await node.signIn()
  await fetch('/write?path=/photo.heic', { method: 'PUT', body: picture })
  await fetch('/write?path=/broken.heic', { method: 'PUT', body: picture.subarray(0, 500) })
  const answer = await fetch('/api/previews?path=/photo.heic&size=small')
  t.strictSame([answer.status, answer.headers.get('content-type')], [200, 'image/webp'])
  const preview = Buffer.from(await answer.arrayBuffer())
  t.equal(preview.toString('latin1', 8, 12), 'WEBP')
  t.equal((await fetch('/api/previews?path=/broken.heic&size=small')).status, 422)
  let listed: NodeAnswers['GET /api/previews/photos']
  do listed = (await (await fetch('/api/previews/photos')).json()) as typeof listed
  while (!listed.isComplete)
  t.match(listed.photos, [
    { path: '/photo.heic', width: 96, height: 64, taken: '2026-05-01T12:00:00', camera: /Nodekeep/ },
  ])
})

/** Changes a few bytes of the picture. */
function damaged(seed: number): Buffer {
  const bytes = Buffer.from(picture)
  let state = seed
  const random = (below: number) => {
    // A linear congruential generator, with the numbers of Numerical Recipes.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state % below
  }
  for (let left = 1 + random(8); left > 0; left -= 1) bytes[random(bytes.length)] = random(256)
  return bytes
}
