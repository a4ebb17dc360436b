import assert from 'node:assert/strict'
import { until } from '../soon.ts'
import { assertBrokenOff } from './assertions.ts'
import { type Heard, hear, hearAll, hearMeanwhile, leaveAfter, reply, textOf } from './chatting.ts'
import { type AiCheck, lacking, lacks } from './subject.ts'

/** Characters of one to four bytes, combined characters, line ends, and text that protocols use themselves. */
const oddText = [
  'Añejo, 東京, 👩‍👩‍👧‍👦 e\u0301',
  '\n\n',
  'data: [DONE]\n\n',
  '\r\n{"text":"',
  '\\u0041 "\\',
  '\u2028\u2029\u0000\ufeff',
  '🙂',
]

export function textChecks(check: AiCheck): void {
  check('the text of a reply arrives unchanged, and its end comes last', async (subject) => {
    const text = ['The capital', ' of Peru', ' is Lima', '.']
    subject.server.play(reply(text))
    const deltas = await hearAll(subject)
    assert.equal(textOf(deltas), text.join(''))
    assert.deepEqual(deltas.at(-1), { type: 'finish', reason: 'stop' })
  })

  check('text comes as it is written, not when it is complete', async (subject) => {
    subject.server.play({ kind: 'stall', text: ['It is', ' a long'] })
    await leaveAfter(subject, 'It is a long')
  })

  for (const byteByByte of [false, true]) {
    const how = byteByByte ? 'one byte at a time' : 'in pieces'
    check(`text of any characters comes unchanged, sent ${how}`, async (subject) => {
      subject.server.play(reply(oddText, { byteByByte }))
      assert.equal(textOf(await hearAll(subject)), oddText.join(''))
    })
  }

  check('bytes that are not UTF-8 become U+FFFD, or are an upstream error', async (subject) => {
    const text = ['Li\ufffdma', ', not Ca\ufffdlao']
    subject.server.play(reply(text, { invalidBytes: true }))
    const heard = await hear(subject)
    if (heard.failure !== undefined) assertBrokenOff(heard, text, subject)
    else assert.equal(textOf(heard.deltas), text.join(''))
  })

  check('thoughts are no text, and come before it', async (subject, skip) => {
    if (lacks(subject, 'thoughts')) return skip(lacking('thoughts'))
    const thoughts = ['A capital?', ' Of Peru…']
    for (const text of [[], ['Lima', '.']]) {
      subject.server.play(reply(text, { thoughts }))
      const deltas = await hearAll(subject)
      assert.equal(textOf(deltas), text.join(''))
      const begin = deltas.findIndex((delta) => delta.type === 'text' && delta.text !== '')
      const before = begin < 0 ? deltas : deltas.slice(0, begin)
      assert.ok(
        before.some(({ type }) => type === 'reasoning'),
        'thoughts come as "reasoning"',
      )
    }
  })

  check('an empty reply is a reply', async (subject) => {
    subject.server.play(reply([]))
    assert.equal(textOf(await hearAll(subject)), '')
  })

  check('a long reply is complete', async (subject) => {
    const text = Array.from({ length: 1000 }, (_, index) => `${index} ${'é'.repeat(index % 97)}\n`)
    subject.server.play(reply(text))
    assert.equal(textOf(await hearAll(subject)), text.join(''))
  })

  for (const finish of ['stop', 'length', 'content_filter'] as const) {
    check(`the reason "${finish}" of the end arrives`, async (subject, skip) => {
      if (lacks(subject, finish)) return skip(lacking(finish))
      subject.server.play(reply(['Well'], { finish }))
      assert.deepEqual((await hearAll(subject)).at(-1), { type: 'finish', reason: finish })
    })
  }

  check('an unknown reason of the end is "stop"', async (subject) => {
    subject.server.play(reply(['Well'], { finish: 'stop', reason: 'a_reason_of_next_year' }))
    assert.deepEqual((await hearAll(subject)).at(-1), { type: 'finish', reason: 'stop' })
  })

  check('the tokens are those that the server counted', async (subject, skip) => {
    if (lacks(subject, 'usage')) return skip(lacking('usage'))
    const usage = { inputTokens: 1234, outputTokens: 56 }
    subject.server.play(reply(['Lima', '.'], { usage }))
    const told = (await hearAll(subject)).findLast(({ type }) => type === 'usage')
    assert.deepEqual(told, { type: 'usage', ...usage })
  })

  check('many chats at once do not mix', async (subject) => {
    const texts = Array.from({ length: 8 }, (_, chat) =>
      Array.from({ length: 8 }, (_, piece) => `${chat}:${piece} `),
    )
    const chats: Promise<Heard>[] = []
    for (const [index, text] of texts.entries()) {
      subject.server.play(reply(text, { byteByByte: true }))
      chats.push(hearMeanwhile(subject))
      await until(() => subject.server.chats() > index, 'the chat does not reach the server')
    }
    const heard = await Promise.all(chats)
    assert.deepEqual(
      heard.map(({ deltas }) => textOf(deltas)),
      texts.map((text) => text.join('')),
    )
  })
}
