import { test } from 'tap'
import { parseIf, tokensIn } from '../../src/locks/if-header.ts'

const token = (value: string, isNegated = false) => ({ isNegated, kind: 'token', value })
const etag = (value: string, isNegated = false) => ({ isNegated, kind: 'etag', value })

test('lists of conditions are read as in the examples of RFC 4918, section 10.4', async (t) => {
  t.strictSame(parseIf('(<urn:uuid:181d4fae> ["I am an ETag"]) (["I am another ETag"])'), [
    { resource: null, conditions: [token('urn:uuid:181d4fae'), etag('"I am an ETag"')] },
    { resource: null, conditions: [etag('"I am another ETag"')] },
  ])
  t.strictSame(parseIf('(Not <urn:uuid:181d4fae> <urn:uuid:58f202ac>)'), [
    { resource: null, conditions: [token('urn:uuid:181d4fae', true), token('urn:uuid:58f202ac')] },
  ])
  t.strictSame(parseIf('</resource1> (<urn:uuid:181d4fae> [W/"A weak ETag"]) (["strong ETag"])'), [
    { resource: '/resource1', conditions: [token('urn:uuid:181d4fae'), etag('W/"A weak ETag"')] },
    { resource: '/resource1', conditions: [etag('"strong ETag"')] },
  ])
  t.strictSame(
    parseIf('<http://a.test/x>(["1"])<http://a.test/y>(Not["2"])').map(({ resource }) => resource),
    ['http://a.test/x', 'http://a.test/y'],
  )
})

test('each token counts as sent, also a negated one', async (t) => {
  const lists = parseIf('</a> (Not <urn:1> ["x"]) </b> (<urn:2>)')
  t.strictSame([...tokensIn(lists)], ['urn:1', 'urn:2'])
})

test('another form is refused', async (t) => {
  for (const header of [
    '',
    ' ',
    '()',
    '(',
    ')',
    '(<a>',
    '<a>',
    'a',
    '(a)',
    '(Not)',
    '(Not Not <a>)',
    '(<a>) </b> (<c>)',
    '</a> </b> (<c>)',
    '</a> (<c>) </b>',
    '(<a>))',
    '((<a>))',
    '(["a)',
    '(<a>) x',
    `${'(<a>)'.repeat(100)}`,
  ])
    t.throws(() => parseIf(header), { code: 'VALIDATION_ERROR' }, header.slice(0, 20))
})
