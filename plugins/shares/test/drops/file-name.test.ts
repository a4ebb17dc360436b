import t from 'tap'
import { fileName, numberedName } from '../../src/drops/file-name.ts'

t.test('a name of a guest is one name, without anything that is hidden', async (t) => {
  t.equal(fileName('photo.jpg'), 'photo.jpg')
  t.equal(fileName('../../etc/passwd'), 'passwd')
  t.equal(fileName('C:\\Users\\me\\photo.jpg'), 'photo.jpg')
  t.equal(fileName('...'), 'file')
  t.equal(fileName(' .hidden '), 'hidden')
  t.equal(fileName('a\0b\u202ec\r\n'), 'abc')
  t.equal(fileName('e\u0301'), '\u00e9', 'NFC')
  t.equal(fileName('\ud800'), '\ufffd')
  const long = fileName(`${'😀'.repeat(300)}.jpeg`)
  t.ok(Buffer.byteLength(long) <= 200 && long.endsWith('😀.jpeg'), long)
})

t.test('a number comes before the type', async (t) => {
  t.equal(numberedName('photo.jpg', 1), 'photo.jpg')
  t.equal(numberedName('photo.jpg', 2), 'photo (2).jpg')
  t.equal(numberedName('photo', 12), 'photo (12)')
})
