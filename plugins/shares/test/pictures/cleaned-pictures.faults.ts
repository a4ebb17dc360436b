import { deepEqual } from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { needsPrograms } from '@nodekeep/kernel/testing'
import fc from 'fast-check'
import { checkCleaned, tagsThatExiftoolFinds } from './fixtures/check-cleaned.ts'
import { generatedPicture } from './fixtures/generated-pictures.ts'

const picturesPerRound = 200

/** 10,000 pictures in all. */
export default {
  name: 'Pictures leave without data of cameras, and with their pixels.',
  missing: needsPrograms('exiftool'),
  defaultRounds: 50,
  async round({ seed }: { readonly seed: number }) {
    const folder = await mkdtemp(join(tmpdir(), 'nodekeep-pictures-'))
    try {
      const pictures = fc.sample(generatedPicture(), { numRuns: picturesPerRound, seed })
      for (const [at, picture] of pictures.entries())
        await writeFile(join(folder, `${at}.${picture.base.format}`), await checkCleaned(picture))
      deepEqual(await tagsThatExiftoolFinds(folder), { files: pictures.length, tags: [] })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
}
