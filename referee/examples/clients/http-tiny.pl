use strict; use warnings; my $url = $ENV{REFEREE_URL};
use HTTP::Tiny; my $http = HTTP::Tiny->new;
sub send_it { my $answer = $http->request(@_); die "$answer->{status}\n" unless $answer->{success}; }
sub get { send_it('GET', $url . shift) } sub post { send_it('POST', $url . shift, { content => '{}' }) }
get('/pets'); post('/pets'); get('/orders');
