import { test } from 'tap'
import { readClientMessage, readServerMessage } from '../../src/protocol/messages.ts'

test('a message has the form of its type, and may have fields that are not known', async (t) => {
  const hello = { type: 'hello', protocol: 1, name: 'laptop', later: true }
  t.strictSame(readClientMessage(JSON.stringify(hello)), hello)
  const waiting = { type: 'waiting', mount: '/cold', since: '2026-11-23T10:00:00.000Z' }
  t.strictSame(readServerMessage(JSON.stringify(waiting)), waiting)
})

test('a message in another form is refused with a sentence', async (t) => {
  const refused: readonly (readonly [string, RegExp])[] = [
    ['{', /must be JSON/],
    ['null', /with a type/],
    ['{"type":1}', /with a type/],
    ['{"type":"constructor"}', /one of hello, ack, ping/],
    ['{"type":"welcome"}', /one of hello, ack, ping/],
    ['{"type":"ack"}', /"ack" is not valid/],
    ['{"type":"ack","cursor":-1}', /cursor/],
    ['{"type":"ack","cursor":1.5}', /cursor/],
    ['{"type":"hello","protocol":1,"name":"a\\u0007"}', /name/],
    [JSON.stringify({ type: 'hello', protocol: 1, name: 'a'.repeat(101) }), /name/],
  ]
  for (const [text, message] of refused) t.throws(() => readClientMessage(text), { message }, text)
  t.throws(() => readServerMessage('{"type":"waiting","mount":null,"since":"soon"}'), { message: /since/ })
  t.equal(readServerMessage('{"type":"hello"}'), null, 'a type of a newer node')
})
