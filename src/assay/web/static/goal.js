// A reviewer's own goal for today: it is kept in this browser, and is not sent anywhere.

const MOST = 10_000;

export class Goal {
  #place;
  #today = "";
  #goal = 0; // 0: none
  #before = null; // answers from before today, as far as this browser knows

  constructor(campaignId, person) {
    this.#place = `assay goal ${JSON.stringify([campaignId, person])}`;
  }

  // How many answers of today are wanted; 0 where nothing was set.
  get wanted() {
    return this.#goal;
  }

  set(number) {
    this.#goal = Number.isInteger(number) && number > 0 ? Math.min(number, MOST) : 0;
    this.#keep();
  }

  // How many of so many answers in all were given today.
  done(yours) {
    this.#load();
    if (this.#before === null || yours < this.#before) {
      this.#before = yours;
      this.#keep();
    }
    return yours - this.#before;
  }

  // A day ends at midnight where the reviewer is; the goal stays, the count begins anew.
  #load() {
    const now = new Date();
    const today = [now.getFullYear(), now.getMonth() + 1, now.getDate()].join("-");
    if (today === this.#today) return;
    this.#today = today;
    this.#before = null;
    try {
      const kept = JSON.parse(localStorage.getItem(this.#place)) ?? {};
      if (Number.isInteger(kept.goal)) this.#goal = Math.min(Math.max(kept.goal, 0), MOST);
      if (kept.day === today && Number.isInteger(kept.before)) this.#before = kept.before;
    } catch {
      // nothing can be kept here: the goal is for as long as the page is open
    }
  }

  #keep() {
    const kept = { goal: this.#goal, day: this.#today, before: this.#before };
    try {
      localStorage.setItem(this.#place, JSON.stringify(kept));
    } catch {
      // as above
    }
  }
}
