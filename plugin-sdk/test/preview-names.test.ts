import { isPreviewedPicture, isPreviewedSound } from '@nodekeep/plugin-sdk/preview-names'
import { test } from 'tap'

test('names tell whether there may be a preview', async (t) => {
  for (const name of ['a.jpg', 'A.JPEG', 'a.b.webp', 'IMG_1.HEIC', 'a.heif', 'a.jfif', 'a.jpe', '.png'])
    t.strictSame([isPreviewedPicture(name), isPreviewedSound(name)], [true, false], name)
  for (const name of ['a.mp3', 'A.FLAC', 'a.m4b', 'a.ogg'])
    t.strictSame([isPreviewedPicture(name), isPreviewedSound(name)], [false, true], name)
  for (const name of ['jpg', 'a.svg', 'a.tiff', 'a.jpg.txt', 'a.mp4', ''])
    t.notOk(isPreviewedPicture(name) || isPreviewedSound(name), name)
})
