import { readFile } from 'node:fs/promises'
import t from 'tap'
import { generateNodeAnswers, nodeAnswersFile } from './node-answers.ts'

t.test('the committed types of answers are what `npm run bundle` makes', async (t) => {
  t.equal(await readFile(nodeAnswersFile, 'utf8'), await generateNodeAnswers(), 'run `npm run bundle`')
})
