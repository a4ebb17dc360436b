import { test } from 'tap'
import { elementsIn, elementWriter, escaped, nameOf, parseXml, standaloneXml } from '../src/xml.ts'

const parse = (text: string, encoding: BufferEncoding = 'utf8') => parseXml(Buffer.from(text, encoding))

test('XML is read as UTF-8 and UTF-16, with namespaces', async (t) => {
  const text = '<?xml version="1.0"?><a xmlns="DAV:"><b xmlns="urn:ü"/><c:d xmlns:c="urn:c"/></a>'
  for (const root of [
    await parse(text),
    await parse(`\ufeff${text}`),
    await parse(`\ufeff${text}`, 'utf16le'),
  ])
    t.strictSame([nameOf(root), ...elementsIn(root).map(nameOf)], ['{DAV:}a', '{urn:ü}b', '{urn:c}d'])
})

test('XML that is not well-formed, or could grow, is refused', async (t) => {
  for (const text of [
    '',
    'text',
    '<a>',
    '<a></b>',
    '<a b=c/>',
    '<a/><b/>',
    '<a><b:c/></a>',
    '<a xmlns:b=""/>',
    '<a b:c="d"/>',
    '<!DOCTYPE a><a/>',
    '<!doctype a [<!ENTITY b "c">]><a>&b;</a>',
    '<a>&unknown;</a>',
    '<a xmlns:xml="urn:x"/>',
    '<a xmlns:xmlns="urn:x"/>',
    `<a>${'<b/>'.repeat(1000)}</a>`,
    `${'<a>'.repeat(101)}${'</a>'.repeat(101)}`,
  ])
    await t.rejects(parse(text), { code: 'VALIDATION_ERROR' }, text.slice(0, 40))
  await t.rejects(parseXml(Buffer.from([0x3c, 0x61, 0xff, 0x2f, 0x3e])), { code: 'VALIDATION_ERROR' })
})

test('an element stands alone with its prefixes and its language', async (t) => {
  const written = async (text: string) =>
    elementsIn(await parse(text))
      .map(standaloneXml)
      .join('')
  t.equal(
    await written('<D:p xmlns:D="DAV:"><D:x>1 &lt; 2</D:x></D:p>'),
    '<D:x xmlns:D="DAV:">1 &lt; 2</D:x>',
  )
  t.equal(await written('<p xmlns="urn:a"><x><y/></x></p>'), '<x xmlns="urn:a"><y/></x>')
  t.equal(
    await written('<p xmlns="DAV:" xml:lang="de"><x xmlns="" a="&quot;"><!-- no --><![CDATA[<&>]]></x></p>'),
    '<x xml:lang="de" a="&quot;">&lt;&amp;&gt;</x>',
  )
  t.equal(
    await written('<p xmlns:a="urn:a"><x a:b="1" xmlns:c="urn:c"><c:y/></x></p>'),
    '<x xmlns:a="urn:a" xmlns:c="urn:c" a:b="1"><c:y/></x>',
  )
})

test('text of files cannot break the XML of answers', async (t) => {
  t.equal(
    escaped('<a href="x">&\r\0\u0007\ud800</a>'),
    '&lt;a href=&quot;x&quot;&gt;&amp;&#13;\ufffd\ufffd\ufffd&lt;/a&gt;',
  )
  t.equal(elementWriter('{urn:"<>}a')('b'), '<a xmlns="urn:&quot;&lt;&gt;">b</a>')
  t.equal(elementWriter('{}a')(''), '<a/>')
  t.equal(elementWriter('{DAV:}a')(''), '<D:a/>')
})
