/** The program in the sandbox: makes previews of pictures, and of the covers of audio. */
import { serveContents } from '@nodekeep/plugin-sdk/sandbox-content'
import { audioFormats, formatOf } from '../protocol/formats.ts'
import type { PreviewAnswer, PreviewOrder } from '../protocol/orders.ts'
import { coverOf } from './cover.ts'
import { decodePicture, refusal } from './picture.ts'

serveContents(async (order, content) => {
  const wanted = order as PreviewOrder
  const isAudio = wanted.decoded === undefined && isAudioFile(content)
  const { facts, previews } = await decodePicture(isAudio ? await coverOf(content) : content, wanted)
  const answer: PreviewAnswer = { facts: isAudio ? null : facts }
  return { answer, parts: previews }
})

/** @throws Refusal if the format is unknown */
function isAudioFile(content: Uint8Array): boolean {
  const format = formatOf(content)
  if (format === null) throw refusal('unknown')
  return audioFormats.has(format)
}
