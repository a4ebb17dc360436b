import { test } from 'tap'
import { libraryOf } from '../../src/indexing/libraries.ts'
import { htmlText } from '../../src/inside/html-text.ts'

const textOf = async (html: string, most = 1000) =>
  (await htmlText(Buffer.from(html), libraryOf('html'), most)).replace(/\s+/g, ' ').trim()

test('the text of a page has what people read', async (t) => {
  t.equal(await textOf('<title>A</title><style>b{}</style><p>c<br>d<script>e</script>f'), 'A c d f')
  t.equal(await textOf('<p>one</p><p>two</p><td>three<td>four'), 'one two three four')
  t.equal(await textOf('wo<b>r</b>d &amp; caf&eacute; &#x41;'), 'word & café A')
  t.equal(await textOf('<template><p>no</p></template><noscript>no</noscript>yes'), 'yes')
  t.equal(await textOf('a <!-- b --> c <![CDATA[ d ]]>'), 'a c')
})

test('broken pages have text, too, and no more than is taken', async (t) => {
  t.equal(await textOf('<p <b <i>a</p></b></x>&unknown; b'), 'a &unknown; b')
  t.equal(await textOf('<script>never ends'), '')
  t.equal(await textOf(`${'<div>'.repeat(100_000)}deep`), '')
  t.ok((await textOf('word '.repeat(100_000), 100)).length <= 64 * 1024)
})
