import t from 'tap'
import { allowsRange, readConditions } from '../../src/stored-content/conditional-requests.ts'

const file = { revision: 'r1', modified: new Date('2026-05-04T10:20:30.456Z') }
const before = 'Mon, 04 May 2026 10:20:29 GMT'
const same = 'Mon, 04 May 2026 10:20:30 GMT'

t.test('conditions are evaluated in the order of RFC 9110', async (t) => {
  const cases: [Record<string, string>, string][] = [
    [{}, 'proceed'],
    [{ 'if-none-match': '"r1"' }, 'not-modified'],
    [{ 'if-none-match': 'W/"r1"' }, 'not-modified'],
    [{ 'if-none-match': '*' }, 'not-modified'],
    [{ 'if-none-match': '"r0", "r1"' }, 'not-modified'],
    [{ 'if-none-match': '"r0"' }, 'proceed'],
    [{ 'if-none-match': '"r0"', 'if-modified-since': same }, 'proceed'],
    [{ 'if-modified-since': same }, 'not-modified'],
    [{ 'if-modified-since': before }, 'proceed'],
    [{ 'if-modified-since': 'some day' }, 'proceed'],
    [{ 'if-match': '"r1"' }, 'proceed'],
    [{ 'if-match': '*' }, 'proceed'],
    [{ 'if-match': '"r0", "r1"' }, 'proceed'],
    [{ 'if-match': '"r0"' }, 'failed'],
    [{ 'if-match': 'W/"r1"' }, 'failed'],
    [{ 'if-match': 'r1' }, 'failed'],
    [{ 'if-match': '"r1"', 'if-unmodified-since': before }, 'proceed'],
    [{ 'if-unmodified-since': before }, 'failed'],
    [{ 'if-unmodified-since': same }, 'proceed'],
    [{ 'if-unmodified-since': 'Monday, 04-May-26 10:20:29 GMT' }, 'failed'],
    [{ 'if-unmodified-since': 'Mon May  4 10:20:29 2026' }, 'failed'],
    [{ 'if-unmodified-since': 'Mon May  4 10:20:30 2026' }, 'proceed'],
    [{ 'if-unmodified-since': '0' }, 'proceed'],
    [{ 'if-modified-since': '2026-06-01' }, 'proceed'],
    [{ 'if-match': '"r0"', 'if-none-match': '"r1"' }, 'failed'],
    [{ 'if-match': '"r1"', 'if-none-match': '"r1"' }, 'not-modified'],
  ]
  for (const [headers, result] of cases)
    t.equal(readConditions(headers, file), result, JSON.stringify(headers))
})

t.test('a range is served only for the version that the client has', async (t) => {
  for (const header of [undefined, '"r1"', ' "r1" ']) t.ok(allowsRange(header, file), header ?? 'none')
  for (const header of ['"r0"', 'W/"r1"', before, same, 'Tue, 05 May 2026 10:20:30 GMT', 'r1', '']) {
    t.notOk(allowsRange(header, file), header)
  }
})
