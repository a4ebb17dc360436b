import t from 'tap'
import { entityTags, namesTag } from '../../src/stored-content/entity-tags.ts'

t.test('a list of entity tags is parsed as RFC 9110 says', async (t) => {
  t.strictSame(entityTags('"a",  W/"b","c,d"'), ['"a"', 'W/"b"', '"c,d"'])
  t.strictSame(entityTags('a, b'), [])
})

t.test('a list names a tag in its strong and its weak form, and a star names any', async (t) => {
  for (const list of ['"a"', 'W/"a"', '"b", W/"a"', '*', ' * ']) t.ok(namesTag(list, '"a"'), list)
  for (const list of ['', '"b"', 'a', '"a, b"']) t.notOk(namesTag(list, '"a"'), list)
})
